/**
 * What every way of putting an instance back must do: the same state as a fresh instance, after anything.
 */
import { assert, describe, it } from "vitest"
import { resetInstance, resetModule, type ResetModuleOptions } from "../../layers/node/reset-instance.ts"
import type { Checkpoint } from "../../src/reset/checkpoint.ts"
import { type Guest, guestOf, profiles, type Subject } from "./contexts-modules.ts"

/** All bytes of all memories and all numbers of all mutable globals of an instance. */
export const stateOf = (state: WebAssembly.Exports): Readonly<Record<string, string>> => {
  const parts: Record<string, string> = {}
  for (const [name, part] of Object.entries(state)) {
    if (!name.includes("reset:") || name.includes("reset:map:")) continue
    if (part instanceof WebAssembly.Memory) parts[name] = digest(new Uint8Array(part.buffer))
    else if (part instanceof WebAssembly.Global && typeof part.value !== "object") parts[name] = String(part.value)
    else if (part instanceof WebAssembly.Table) {
      parts[name] = Array.from({ length: part.length }, (_, i) => (part.get(i) as { name?: string } | null)?.name)
        .join()
    }
  }
  return parts
}

const digest = (bytes: Uint8Array): string => {
  // FNV-1a over words: what matters is that any byte that differs shows.
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2)
  let low = 0x811c9dc5
  let high = words.length
  for (const word of words) {
    low = Math.imul(low ^ word, 0x01000193)
    high = Math.imul(high ^ (low >>> 7), 0x85ebca6b)
  }
  return `${low >>> 0}:${high >>> 0}`
}

interface Open {
  readonly guest: Guest
  readonly state: () => ReturnType<typeof stateOf>
  readonly checkpoint: Checkpoint
}

/** Opens an instance and takes it to the state that resets return to. */
const open = (subject: Subject, module: ReturnType<typeof resetModule>): Open => {
  const imports = subject.imports()
  const instance = resetInstance(module, imports)
  const kept: Array<Checkpoint> = []
  const guest = guestOf(instance.exports, imports, (at, bytes) => kept[0]?.touch(at, bytes))
  subject.begin(guest)
  const checkpoint = instance.checkpoint()
  kept.push(checkpoint)
  return { guest, state: () => stateOf(instance.state), checkpoint }
}

/** The native answer: the original bytes, fresh. */
const native = (subject: Subject, profile: number): readonly [answer: unknown, bytes: string] => {
  const imports = subject.imports()
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(subject.bytes() as BufferSource), imports)
  const guest = guestOf(exports, imports)
  subject.begin(guest)
  const answer = subject.run(guest, profile)
  return [answer, digest(new Uint8Array(guest.memory.buffer))]
}

/** A rung under test. */
export interface Rung {
  readonly name: string
  readonly options: ResetModuleOptions
}

const order = [0, 3, 1, 3, 2, 4, 1, 0, 4, 2]

/** Runs the suite for one rung and one module. */
export const suite = (rung: Rung, subject: Subject): void => {
  describe(`${subject.name}, ${rung.name}`, () => {
    it("gives the native answers and bytes for every input, whatever ran before", () => {
      const module = resetModule(subject.bytes(), rung.options)
      assert.strictEqual(module.choice.rung, rung.name)
      const expected = profiles.map((profile) => native(subject, profile))
      let at = open(subject, module)
      const start = at.state()
      let retired = 0
      for (const profile of order) {
        const answer = subject.run(at.guest, profile)
        assert.deepStrictEqual(
          [answer, digest(new Uint8Array(at.guest.memory.buffer))],
          expected[profile],
          `profile ${profile}`
        )
        const reason = at.checkpoint.reset()
        if (reason === undefined) {
          assert.deepStrictEqual(at.state(), start, `after profile ${profile}`)
          continue
        }
        assert.match(reason, /^memory 0 has grown/)
        assert.strictEqual(at.checkpoint.reset(), reason)
        at.checkpoint.release()
        retired++
        at = open(subject, module)
      }
      at.checkpoint.release()
      assert.isBelow(retired, order.length)
    })
  })
}
