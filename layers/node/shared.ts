/**
 * Guest memories that are shared already: lanes get the very same `WebAssembly.Memory`. Growth by anybody is seen by
 * everybody, so there is nothing to keep up to date.
 *
 * @since 0.1.0
 */
import type { MappedMemory, MemoryDescriptor } from "../../src/lane/lanes.ts"
import { isSharedBuffer } from "../../src/wire/realm.ts"

let lastMemoryId = 0

/**
 * A number for the bytes of a memory that no other memory of this thread has had.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nextMemoryId = (): number => ++lastMemoryId

/**
 * A shared memory as lanes attach it.
 *
 * @category models
 * @since 0.1.0
 */
export class SharedMapping implements MappedMemory {
  readonly rung: "shared-given" | "shared-fixed"
  readonly id = nextMemoryId()
  readonly #memory: WebAssembly.Memory
  #reason: string | undefined

  constructor(memory: WebAssembly.Memory, rung: "shared-given" | "shared-fixed") {
    this.#memory = memory
    this.rung = rung
  }

  get mappedBytes(): number {
    return this.#memory.buffer.byteLength
  }

  get reason(): string | undefined {
    return this.#reason
  }

  ensure(): boolean {
    const shared = isSharedBuffer(this.#memory.buffer)
    this.#reason = shared ? undefined : "the memory is not shared"
    return shared
  }

  descriptor(): MemoryDescriptor {
    return { rung: "shared", memory: this.#memory }
  }

  release(): void {}
}

const mappings = new WeakMap<WebAssembly.Memory, SharedMapping>()

/**
 * The mapping of a shared memory: one per memory object, whichever instances use it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const sharedMapping = (memory: WebAssembly.Memory, rung: "shared-given" | "shared-fixed"): SharedMapping => {
  let mapping = mappings.get(memory)
  if (mapping === undefined) mappings.set(memory, mapping = new SharedMapping(memory, rung))
  return mapping
}
