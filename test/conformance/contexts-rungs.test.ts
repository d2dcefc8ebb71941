import { assert, describe, it } from "vitest"
import { resetInstance, resetModule } from "../../layers/node/reset-instance.ts"
import { kernelTrackingRefusal } from "../../layers/node/reset-kernel.ts"
import { guestOf, subjects } from "./contexts-modules.ts"
import { type Rung, stateOf, suite } from "./contexts-rungs.ts"

const withoutKernel = { kernel: "not asked", severalMemories: true }

const rungs: ReadonlyArray<Rung> = [
  { name: "whole", options: { policy: "whole" } },
  { name: "checkpoint", options: { policy: "checkpoint" } },
  { name: "tracked-map", options: { policy: "tracked", host: withoutKernel } },
  // Left out where the system refuses; `folio doctor` says so.
  ...(kernelTrackingRefusal() === undefined
    ? [{ name: "tracked-kernel", options: { policy: "tracked" } } as const]
    : [])
]

for (const subject of subjects) {
  for (const rung of rungs) suite(rung, subject)
}

describe("learned pages", () => {
  const subject = subjects[0]

  const learn = () => {
    const instance = resetInstance(resetModule(subject.bytes(), { policy: "pages" }))
    const guest = guestOf(instance.exports, {})
    subject.begin(guest)
    const checkpoint = instance.checkpoint()
    const start = stateOf(instance.state)
    return { guest, checkpoint, start, state: () => stateOf(instance.state) }
  }

  it("put an unchanged input back", () => {
    const { checkpoint, guest, start, state } = learn()
    for (let round = 0; round < 4; round++) {
      subject.run(guest, 2)
      assert.notDeepEqual(state(), start)
      assert.isUndefined(checkpoint.reset())
      assert.deepStrictEqual(state(), start)
    }
  })

  it("leave bytes behind when the input changes", () => {
    const { checkpoint, guest, start, state } = learn()
    subject.run(guest, 1)
    checkpoint.reset()
    assert.deepStrictEqual(state(), start)
    subject.run(guest, 3)
    checkpoint.reset()
    assert.notDeepEqual(state(), start)
  })
})
