/** The committed kernels are what their manifest says, and their catalogue describes each of them. */
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { kernels } from "../../../bench/fixtures/kernels/catalogue.ts"
import manifest from "../../../bench/fixtures/kernels/manifest.json" with { type: "json" }

const directory = join(import.meta.dirname, "../../../bench/fixtures/kernels")
const read = (name: string) => readFileSync(join(directory, name))
const sha256 = (name: string) => createHash("sha256").update(read(name)).digest("hex")

describe("kernels", () => {
  for (const [module, entry] of Object.entries(manifest.modules)) {
    it(`${module} and its source are those of the manifest`, () => {
      assert.strictEqual(sha256(module), entry.sha256)
      assert.strictEqual(sha256(entry.source), entry.sourceSha256)
    })
  }

  for (const module of ["loops-o2", "loops-o3", "loops-simd"]) {
    it(`${module} exports what the catalogue describes`, () => {
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(read(`${module}.wasm`)))
      const functions = Object.entries(exports).filter(([, value]) => typeof value === "function")
      assert.sameMembers(functions.map(([name]) => name), kernels.map(({ name }) => name))
      for (const { arguments: parameters, name } of kernels) {
        assert.strictEqual((exports[name] as () => void).length, parameters.length, name)
      }
    })
  }
})
