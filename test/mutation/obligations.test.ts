/**
 * Every obligation counts: with all of them in place nothing differs, without one of them something does. A kind that
 * no fixture can kill would be a promise without content, and fails here.
 */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { kernelModules } from "../../bench/fixtures/kernels/catalogue.ts"
import type { NodeEngine } from "../../layers/node/engine.ts"
import { prepare, type Prepared } from "../../src/plan/prepare.ts"
import type { Obligation } from "../../src/plan/types.ts"
import { LaneFault } from "../support/differential-faults.ts"
import { kernelModule } from "../support/differential-kernels.ts"
import { OnLanes, openLanes } from "../support/differential-lanes.ts"
import { Apart, compareCall, difference, Guest, type Mismatch, type Split, type Twin } from "../support/differential.ts"
import { assemble } from "../support/wat.ts"
import { callOf, type Fixture, fixtureBytes, fixtureNames, FIXTURES, fixtureText, imageOf, kindOf } from "./fixtures.ts"

const SPLITS: ReadonlyArray<Split> = [
  { order: "forward", width: 2 },
  { order: "forward", width: 4 },
  { order: "reverse", width: 4 },
  { order: 1, width: 7 },
  { order: "reverse", width: 32 }
]

const obligationsOf = (prepared: Prepared): ReadonlyArray<Obligation> =>
  prepared.plan.loops.flatMap((loop) => loop._tag === "planned" ? loop.obligations : [])

/** Real lanes take a piece when they are free: as often as this the owner may have been faster. */
const PATIENCE = 400

interface Outcome {
  readonly mismatches: ReadonlyArray<Mismatch>
  readonly dispatches: number
}

const compare = (
  bytes: Uint8Array,
  fixture: Fixture,
  calls: Fixture["kills"],
  twin: () => Twin,
  rounds: number
): Outcome => {
  const original = new Guest(new WebAssembly.Module(bytes as BufferSource))
  const image = imageOf(fixture, original.memory!.buffer.byteLength)
  const mismatches: Array<Mismatch> = []
  let dispatches = 0
  for (const args of calls) {
    // A twin of its own for each call: one that broke says nothing about the next.
    const own = twin()
    for (let round = 0; round < rounds; round++) {
      const one = compareCall(original, own, image, callOf(args), rounds > 1 ? SPLITS.slice(0, 1) : SPLITS)
      dispatches += one.dispatches
      if (one.mismatch !== undefined) {
        mismatches.push(one.mismatch)
        break
      }
    }
  }
  return { mismatches, dispatches }
}

const lanes: NodeEngine | string = await openLanes()
afterAll(() => typeof lanes === "string" ? undefined : lanes.close())

/** How the fixture is run with all obligations, and without one. */
const twins = (fixture: Fixture, bytes: Uint8Array): { sound: () => Twin; broken: () => Twin } => {
  const sound = prepare(bytes)
  const broken = prepare(bytes, { omit: (obligation) => kindOf(obligation) === fixture.kind })
  switch (fixture.drop) {
    case "omit":
      return { sound: () => new Apart(sound), broken: () => new Apart(broken) }
    case "omit, on lanes":
      return {
        sound: () => new OnLanes(lanes as NodeEngine, sound),
        broken: () => new OnLanes(lanes as NodeEngine, broken)
      }
    default: {
      const fault = fixture.drop
      return {
        sound: () => new Apart(sound),
        broken: () => new Apart(sound, { lanes: (own) => new LaneFault(own, fault) })
      }
    }
  }
}

describe("an obligation", () => {
  for (const fixture of FIXTURES) {
    const { kind, module } = fixture
    const onLanes = fixture.drop === "omit, on lanes"
    describe.skipIf(onLanes && typeof lanes === "string")(`${kind} (${module})`, () => {
      const bytes = fixtureBytes(module)
      const { broken, sound } = twins(fixture, bytes)
      const rounds = onLanes ? PATIENCE : 1

      it("is listed in the plan", () => {
        assert.include(obligationsOf(prepare(bytes)).map(kindOf), kind)
      })

      it("keeps everything the same", () => {
        const inOrder = compare(bytes, fixture, fixture.apart, sound, onLanes ? 20 : 1)
        assert.deepStrictEqual(inOrder.mismatches, [])
        if (fixture.apart.length > 0) assert.isAbove(inOrder.dispatches, 0)
        const critical = compare(bytes, fixture, fixture.kills, sound, onLanes ? 20 : 1)
        assert.deepStrictEqual(critical.mismatches, [])
      })

      it("changes an ending or a byte when it is dropped", () => {
        for (const args of fixture.kills) {
          const { mismatches } = compare(bytes, fixture, [args], broken, rounds)
          assert.lengthOf(mismatches, 1, `(${args.join(", ")}) is the same without it`)
        }
      })
    })
  }

  it("of every kind that plans list has a fixture", () => {
    const listed = new Set<string>()
    const modules = [...fixtureNames().map(fixtureBytes), ...kernelModules.map(({ file }) => kernelModule(file))]
    for (const bytes of modules) for (const one of obligationsOf(prepare(bytes))) listed.add(kindOf(one))
    assert.deepStrictEqual([...listed].sort(), [...new Set(FIXTURES.map(({ kind }) => kind))].sort())
  })

  it("is not needed where it is dropped, when that changes nothing: the comparison itself can fail", () => {
    const bytes = fixtureBytes("captured-local")
    const guest = new Guest(new WebAssembly.Module(bytes as BufferSource))
    const image = new Uint8Array(65_536)
    guest.reset(image)
    const one = guest.call(callOf([1024, 40, 99]))
    const kept = { ...one, memory: one.memory.slice() }
    guest.reset(image)
    const other = guest.call(callOf([1024, 40, 98]))
    assert.match(difference(kept, other) ?? "", /memory differs in 40 bytes, first at 1024/)
    assert.isUndefined(difference(kept, { ...kept, memory: kept.memory.slice() }))
  })
})

describe("the fixtures' bytes", () => {
  for (const name of fixtureNames()) {
    it(`are those of the text: ${name}`, async () => {
      assert.deepStrictEqual(fixtureBytes(name), await assemble(fixtureText(name)))
    })
  }

  it("are all used", () => {
    assert.deepStrictEqual(FIXTURES.map(({ module }) => module).sort(), fixtureNames())
  })
})
