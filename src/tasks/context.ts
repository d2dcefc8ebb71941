/**
 * The private context of tasks: an instance that tasks use one after the other, put back in between.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from "../reset/checkpoint.ts"
import { isMemory } from "../wire/realm.ts"

/**
 * What a task sees of its context.
 *
 * @category models
 * @since 0.1.0
 */
export interface Guest {
  readonly exports: WebAssembly.Exports
  /** The exported or imported memory, if there is one. */
  readonly memory: WebAssembly.Memory | undefined
  /** Copies bytes into the memory, and tells the reset of them. */
  readonly write: (at: number, bytes: Uint8Array) => void
  /** A copy of bytes of the memory, which can be posted. */
  readonly read: (at: number, bytes: number) => Uint8Array<ArrayBuffer>
}

/**
 * A program as a lane loads it: an ES module with these exports, all but `tasks` optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskProgram {
  readonly tasks: Readonly<Record<string, (input: never, guest: Guest) => unknown>>
  /** What the module imports. */
  readonly imports?: () => WebAssembly.Imports
  /** Takes a new instance to the state that every task begins with. */
  readonly begin?: (guest: Guest) => void | Promise<void>
}

/**
 * Makes an instance that can be put back.
 *
 * @category models
 * @since 0.1.0
 */
export type Instantiate = (
  imports: WebAssembly.Imports
) => { readonly exports: WebAssembly.Exports; readonly checkpoint: () => Checkpoint }

const memoryIn = (values: Readonly<Record<string, unknown>>): WebAssembly.Memory | undefined =>
  Object.values(values).find(isMemory)

/**
 * A context and its resets.
 *
 * @category models
 * @since 0.1.0
 */
export class TaskContext {
  readonly guest: Guest
  readonly #checkpoint: Checkpoint

  private constructor(guest: Guest, checkpoint: Checkpoint) {
    this.guest = guest
    this.#checkpoint = checkpoint
  }

  /** Opens an instance and takes it to its first state. */
  static async open(
    instantiate: Instantiate,
    program: Pick<TaskProgram, "imports" | "begin">
  ): Promise<TaskContext> {
    const imports = program.imports?.() ?? {}
    const instance = instantiate(imports)
    const memory = memoryIn(instance.exports) ?? Object.values(imports).map(memoryIn).find((found) => found)
    const kept: Array<Checkpoint> = []
    const view = (): Uint8Array<ArrayBuffer> => {
      if (memory === undefined) throw new TypeError("the module has no memory")
      return new Uint8Array(memory.buffer as ArrayBuffer)
    }
    const guest: Guest = {
      exports: instance.exports,
      memory,
      write: (at, bytes) => {
        view().set(bytes, at)
        kept[0]?.touch(at, bytes.length)
      },
      read: (at, bytes) => view().slice(at, at + bytes)
    }
    await program.begin?.(guest)
    const checkpoint = instance.checkpoint()
    kept.push(checkpoint)
    return new TaskContext(guest, checkpoint)
  }

  get copiedBytes(): number {
    return this.#checkpoint.copiedBytes
  }

  /** Puts the instance back; answers why it cannot. */
  reset(): string | undefined {
    return this.#checkpoint.reset()
  }

  release(): void {
    this.#checkpoint.release()
  }
}
