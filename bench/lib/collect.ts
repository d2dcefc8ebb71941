/**
 * Collecting garbage between measurements, so that one does not pay for what another has left.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")

/** Collects all of it. @category system @since 0.1.0 */
export const collect = runInNewContext("gc") as () => void
