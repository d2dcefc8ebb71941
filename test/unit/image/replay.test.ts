import { assert, describe, it } from "@effect/vitest"
import type { Mismatch } from "../../../src/image/mismatch.ts"
import type { Image } from "../../../src/image/model.ts"
import {
  captureContract,
  type CaptureHooks,
  checkFingerprint,
  checkHooks,
  type ReplayHooks,
  runHooks
} from "../../../src/image/replay.ts"
import { booted, options } from "./program.ts"

const codeOf = (call: () => unknown): string => {
  try {
    call()
    return "accepted"
  } catch (error) {
    return `${(error as Mismatch).code} ${(error as Mismatch).place}`
  }
}

const withContract = (hooks: CaptureHooks): Image => ({ ...booted().image, ...captureContract(hooks) })

describe("at the capture", () => {
  it("the host's objection refuses it", () => {
    assert.strictEqual(codeOf(() => captureContract({ refused: () => "a transaction is open" })), "live-state the host")
    assert.strictEqual(codeOf(() => captureContract({ refused: () => undefined })), "accepted")
  })

  it("a handle without a name refuses it", () => {
    assert.strictEqual(codeOf(() => captureContract({ handles: ["log", undefined] })), "handle handle 1")
    assert.deepStrictEqual(captureContract({ handles: ["log"], renew: ["seed"] }), { rebind: ["log"], renew: ["seed"] })
  })
})

describe("before the state is taken over", () => {
  it("another module or fingerprint refuses it", () => {
    const { image } = booted()
    assert.strictEqual(
      codeOf(() => checkFingerprint(image, { module: options.module, fingerprint: "test 1" })),
      "accepted"
    )
    assert.strictEqual(
      codeOf(() => checkFingerprint(image, { module: options.module, fingerprint: undefined })),
      "accepted"
    )
    assert.strictEqual(
      codeOf(() => checkFingerprint(image, { module: options.module, fingerprint: "test 2" })),
      "fingerprint the fingerprint"
    )
    assert.strictEqual(
      codeOf(() => checkFingerprint(image, { module: "b".repeat(64), fingerprint: "test 1" })),
      "module the module"
    )
  })

  it("the host's word that it holds no longer refuses it", () => {
    const image = withContract({})
    const asked: Array<string> = []
    const invalidated = (given: Pick<Image, "fingerprint">) => {
      asked.push(given.fingerprint)
      return asked.length === 1 ? "the configuration was saved at noon" : undefined
    }
    assert.strictEqual(codeOf(() => checkHooks(image, { invalidated })), "invalidated the image")
    assert.strictEqual(codeOf(() => checkHooks(image, { invalidated })), "accepted")
    assert.deepStrictEqual(asked, ["test 1", "test 1"])
  })

  it("a hook that the image asks for and nobody gives refuses it", () => {
    const image = withContract({ renew: ["seed"], handles: ["log"] })
    const hooks: ReplayHooks = { renewed: { seed: () => {} }, rebound: { log: () => {} } }
    assert.strictEqual(codeOf(() => checkHooks(image, hooks)), "accepted")
    assert.strictEqual(codeOf(() => checkHooks(image, { ...hooks, renewed: {} })), `renewal "seed"`)
    assert.strictEqual(codeOf(() => checkHooks(image, { ...hooks, rebound: {} })), `handle "log"`)
    assert.strictEqual(
      codeOf(() => checkHooks(withContract({ renew: ["toString"] }), { renewed: {} })),
      `renewal "toString"`
    )
  })
})

describe("after the state is taken over", () => {
  it("hooks run in order: the look at it, handles, renewals", () => {
    const image = withContract({ renew: ["seed", "session"], handles: ["log"] })
    const { exports } = booted()
    const ran: Array<string> = []
    const note = (_: WebAssembly.Exports, name: string) => void ran.push(name)
    runHooks(exports, image, {
      captured: (given) => {
        assert.strictEqual(given, exports)
        ran.push("captured")
        return undefined
      },
      renewed: { seed: note, session: note },
      rebound: { log: note }
    })
    assert.deepStrictEqual(ran, ["captured", "log", "seed", "session"])
  })

  it("an objection to what was captured refuses it", () => {
    const { exports, image } = booted()
    assert.strictEqual(
      codeOf(() => runHooks(exports, image, { captured: () => "no heap" })),
      "replay the restored state"
    )
  })
})
