/**
 * What goes with a patched module comes back as it was, for the same build only.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Bundle, decodeBundle, encodeBundle, withBundle } from "../../../layers/node/bundle.ts"
import { withIdentity } from "../../../layers/node/identity.ts"
import { CLONE_SECTION, IDENTITY_EXPORT, identityOf, visibleExports } from "../../../layers/node/marker.ts"
import { prepare } from "../../../src/plan/prepare.ts"
import type { Plan } from "../../../src/plan/types.ts"
import { loops } from "../../dropin/modules.ts"
import { assemble } from "../../support/wat.ts"

const plan: Plan = {
  version: 1,
  inputBytes: 9,
  functions: 1,
  loops: [{ _tag: "refused", functionIndex: 0, functionName: "\u0000 ü", offset: 3, reasons: [] }],
  refusal: undefined,
  complete: true,
  memory: undefined
}
const bundle: Bundle = {
  build: "1.2.3+abc",
  identity: -(2n ** 63n),
  plan,
  guard: new Uint8Array([1, 2]),
  chunks: [new Uint8Array(), new Uint8Array(300).fill(7)]
}

describe("a bundle", () => {
  it("comes back, its plan with the planned loops only", () => {
    const decoded = decodeBundle(encodeBundle(bundle), bundle.build)
    assert.isDefined(decoded)
    assert.strictEqual(decoded.identity, bundle.identity)
    assert.deepStrictEqual(decoded.guard, bundle.guard)
    assert.deepStrictEqual(decoded.chunks, bundle.chunks)
    assert.deepStrictEqual(decoded.plan.loops, [])
    assert.strictEqual(decoded.plan.inputBytes, plan.inputBytes)
  })

  it("keeps of every planned loop what running it needs", async () => {
    const prepared = prepare(await assemble(loops))
    const planned = prepared.plan.loops.filter(({ _tag }) => _tag === "planned")
    assert.isAbove(planned.length, 0)
    const decoded = decodeBundle(encodeBundle({ ...bundle, plan: prepared.plan }), bundle.build)
    const needed = planned.map((loop) => ({ ...loop, groups: [], obligations: [] }))
    assert.deepStrictEqual(decoded?.plan.loops, JSON.parse(JSON.stringify(needed)))
  })

  it("of every number comes back with it", () => {
    for (const identity of [0n, 1n, -1n, 2n ** 63n - 1n, 0x1234_5678_9abc_def0n]) {
      assert.strictEqual(decodeBundle(encodeBundle({ ...bundle, identity }), bundle.build)?.identity, identity)
    }
  })

  it("of another build is none", () => {
    assert.isUndefined(decodeBundle(encodeBundle(bundle), "1.2.4"))
  })

  it("that is cut off is refused", () => {
    const encoded = encodeBundle(bundle)
    for (let length = 0; length < encoded.length; length++) {
      assert.throws(() => decodeBundle(encoded.subarray(0, length), bundle.build))
    }
  })
})

describe("a numbered module with a bundle", () => {
  it("runs, and tells both", async () => {
    const original = await assemble(loops)
    const numbered = withIdentity(original, -5n)
    const bytes = withBundle(numbered, encodeBundle(bundle))
    const module = new WebAssembly.Module(bytes)
    const [section] = WebAssembly.Module.customSections(module, CLONE_SECTION)
    assert.strictEqual(decodeBundle(new Uint8Array(section), bundle.build)?.identity, bundle.identity)
    const { exports } = new WebAssembly.Instance(module)
    assert.strictEqual(identityOf(exports), -5n)
    assert.strictEqual(Object.keys(exports).at(-1), IDENTITY_EXPORT)
    const visible = visibleExports(exports)
    assert.deepStrictEqual(
      Object.keys(visible),
      WebAssembly.Module.exports(new WebAssembly.Module(original)).map(({ name }) => name)
    )
    assert.isTrue(Object.isFrozen(visible))
    assert.isUndefined(identityOf(visible))
  })
})
