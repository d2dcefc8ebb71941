/**
 * A failure at each step of adopting or extending a memory: the memory stays what it was, private and usable, the
 * refusal says which step, and no descriptor or mapping is left.
 */
import { afterEach, assert, describe, it } from "vitest"
import { aliasMapping, MAXIMUM_ALIASES } from "../../layers/node/alias.ts"
import { Linux, type NativeCalls } from "../../layers/node/ffi.ts"
import { census, nativeCalls, nothingLeft, settle } from "./lanes-support.ts"

const calls = nativeCalls()

afterEach(async () => assert.deepStrictEqual(await settle(nothingLeft), nothingLeft))

const filled = (pages: number): WebAssembly.Memory => {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: 64 })
  new Int32Array(memory.buffer).forEach((_, index, words) => words[index] = index ^ 0x5a5a)
  return memory
}

const isFilled = (memory: WebAssembly.Memory, pages: number): boolean =>
  new Int32Array(memory.buffer, 0, pages * 16384).every((word, index) => word === (index ^ 0x5a5a))

/** The real calls, of which some are replaced while `active`. */
const failing = (broken: Partial<NativeCalls>): { calls: NativeCalls; state: { active: boolean } } => {
  const state = { active: true }
  const chosen = new Proxy(calls, {
    get: (real, name: keyof NativeCalls) => (state.active ? broken[name] : undefined) ?? real[name]
  })
  return { calls: chosen, state }
}

const invalid = 999_999
const steps: ReadonlyArray<readonly [name: string, reason: RegExp, broken: Partial<NativeCalls>]> = [
  ["no file can be had", /^memfd_create failed \(error 22\)$/, {
    memfdCreate: () => calls.memfdCreate("", 0x4000_0000)
  }],
  ["the file cannot be opened", /^the file cannot be opened: ENOENT/, { memfdCreate: () => invalid }],
  ["the file cannot be made long enough", /^ftruncate failed \(error 9\)$/, {
    ftruncate: (_, bytes) => calls.ftruncate(invalid, bytes)
  }],
  ["the bytes cannot be written", /^pwrite failed \(error 9\)$/, {
    pwrite: (_, address, bytes, offset) => calls.pwrite(invalid, address, bytes, offset)
  }],
  ["the file cannot be mapped", /^mmap failed \(error 9\)$/, {
    mmap: (address, bytes, protection, flags, _, offset) =>
      calls.mmap(address, bytes, protection, flags, invalid, offset)
  }],
  ["mapping takes away the pages and then fails", /^mmap failed/, {
    mmap: (address, bytes, protection, flags, fd, offset) => {
      if ((flags & Linux.MAP_SHARED) === 0) return calls.mmap(address, bytes, protection, flags, fd, offset)
      calls.munmap(address, bytes)
      return calls.mmap(address, bytes, protection, flags, invalid, offset)
    }
  }]
]

describe("adopting a memory", () => {
  for (const [name, reason, broken] of steps) {
    it(`when ${name}`, () => {
      const memory = filled(4)
      const buffer = memory.buffer
      const faulty = failing(broken)
      const mapping = aliasMapping(memory, faulty.calls)
      assert.isFalse(mapping.ensure())
      assert.match(mapping.reason!, reason)
      assert.strictEqual(memory.buffer, buffer)
      assert.isTrue(isFilled(memory, 4))
      assert.deepStrictEqual(census(), nothingLeft)
      new Int32Array(memory.buffer)[5] = 5 ^ 0x5a5a
      memory.grow(1)
      assert.isTrue(isFilled(memory, 4))

      // When the cause has gone it works.
      faulty.state.active = false
      assert.isTrue(mapping.ensure())
      assert.isUndefined(mapping.reason)
      assert.isTrue(isFilled(memory, 4))
      assert.deepStrictEqual(census(), { threads: 0, mappings: 1, descriptors: 1 })
    })

    if (/^(ftruncate|pwrite|mmap)/.test(reason.source.slice(1))) {
      it(`that has grown, when ${name}`, () => {
        const memory = filled(4)
        const faulty = failing(broken)
        faulty.state.active = false
        const mapping = aliasMapping(memory, faulty.calls)
        assert.isTrue(mapping.ensure())
        const { fd } = mapping.descriptor() as { fd: number }
        memory.grow(2)
        const tail = new Int32Array(memory.buffer, 4 * 65536)
        tail[3] = 77
        faulty.state.active = true
        assert.isFalse(mapping.ensure())
        assert.match(mapping.reason!, reason)
        assert.isTrue(isFilled(memory, 4) && tail[3] === 77 && tail[4] === 0)
        assert.deepStrictEqual(mapping.descriptor(), { rung: "alias", fd, bytes: 4 * 65536 })

        // What a failed attempt has written to the file is not found there by the next one.
        tail[3] = 0
        faulty.state.active = false
        assert.isTrue(mapping.ensure())
        assert.deepStrictEqual(mapping.descriptor(), { rung: "alias", fd, bytes: 6 * 65536 })
        assert.isTrue(isFilled(memory, 4) && tail.every((word) => word === 0))
      })
    }
  }

  it("that keeps failing is given up", () => {
    let attempts = 0
    const mapping = aliasMapping(filled(1), { ...calls, memfdCreate: () => (attempts++, -1) })
    for (let round = 0; round < 10; round++) assert.isFalse(mapping.ensure())
    assert.strictEqual(attempts, 3)
  })

  it("goes on when the system writes less than was asked for", () => {
    const memory = filled(4)
    const mapping = aliasMapping(memory, {
      ...calls,
      pwrite: (fd, address, bytes, offset) => calls.pwrite(fd, address, Math.min(bytes, 10_001), offset)
    })
    assert.isTrue(mapping.ensure())
    assert.isTrue(isFilled(memory, 4))
  })

  it("is refused beyond so many memories, and possible again when some are gone", () => {
    const memories = Array.from({ length: MAXIMUM_ALIASES + 1 }, () => new WebAssembly.Memory({ initial: 1 }))
    const mappings = memories.map((memory) => aliasMapping(memory, calls))
    const last = mappings.pop()!
    for (const mapping of mappings) assert.isTrue(mapping.ensure())
    assert.isFalse(last.ensure())
    assert.match(last.reason!, /memories are aliased already/)
    mappings[0]!.release()
    assert.isTrue(last.ensure())
    for (const mapping of mappings) mapping.release()
    assert.strictEqual(memories.length, MAXIMUM_ALIASES + 1)
  })
})
