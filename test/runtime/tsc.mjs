/**
 * The type checker: TypeScript 7 with Effect's diagnostics, as the binary that `@effect/tsgo` ships for the installed
 * TypeScript. Nothing in `node_modules` is patched for it. Arguments are those of `tsc`.
 */
import getExePath from "@effect/tsgo/lib/getExePath"
import { spawnSync } from "node:child_process"

const { error, status } = spawnSync(getExePath(), process.argv.slice(2), { stdio: "inherit" })
if (error !== undefined) throw error
process.exit(status ?? 1)
