/**
 * Which rung is taken, and what is said of those that are not.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { chooseRung, type ResetPolicy } from "../../../src/reset/policy.ts"

const able = { kernel: undefined, severalMemories: true }
const refused = { kernel: "userfaultfd is refused (EPERM)", severalMemories: true }
const old = { kernel: undefined, severalMemories: false }

describe("a rung", () => {
  it("is the fastest that is sound without help", () => {
    assert.deepStrictEqual(chooseRung("auto", able, false), { rung: "tracked-kernel", without: [] })
    const { rung, without } = chooseRung("auto", refused, false)
    assert.strictEqual(rung, "checkpoint")
    assert.deepStrictEqual(without.map(({ rung }) => rung), ["tracked-kernel", "tracked-map"])
    assert.strictEqual(without[0].reason, refused.kernel)
  })

  it("is the store map only for who asks for it or tells of its writes", () => {
    assert.strictEqual(chooseRung("tracked", refused, false).rung, "tracked-map")
    assert.strictEqual(chooseRung("auto", refused, true).rung, "tracked-map")
    assert.strictEqual(chooseRung("tracked", able, true).rung, "tracked-kernel")
  })

  it("is the one that was named, and the whole memory where the engine has no other", () => {
    for (const policy of ["whole", "checkpoint", "pages"] as const) {
      assert.strictEqual(chooseRung(policy, able, false).rung, policy)
    }
    for (const policy of ["auto", "tracked", "checkpoint", "pages"] satisfies ReadonlyArray<ResetPolicy>) {
      const { rung, without } = chooseRung(policy, old, true)
      assert.strictEqual(rung, "whole")
      assert.match(without[0].reason, /several memories/)
    }
  })

  it("is found in a process without node:ffi too, with the reason", () => {
    const file = fileURLToPath(new URL("../../../layers/node/reset-instance.ts", import.meta.url))
    const program = `const { probeReset } = await import(${
      JSON.stringify(file)
    }); console.log(JSON.stringify(probeReset()))`
    const child = spawnSync(
      process.execPath,
      ["--no-experimental-ffi", "--input-type=module", "--eval", program],
      { encoding: "utf8" }
    )
    const choice = JSON.parse(child.stdout) as ReturnType<typeof chooseRung>
    assert.strictEqual(choice.rung, "checkpoint")
    assert.match(choice.without[0].reason, /node:ffi is switched off/)
  })
})
