/**
 * Re-makes the `.wasm` files of `fixtures`: `node test/mutation/build.ts`.
 */
import { writeFileSync } from "node:fs"
import { assemble } from "../support/wat.ts"
import { fixtureFile, fixtureNames, fixtureText } from "./fixtures.ts"

for (const name of fixtureNames()) writeFileSync(fixtureFile(name, "wasm"), await assemble(fixtureText(name)))
