/**
 * What a backend offers to the dispatcher: lanes that run chunks, and memory that they and the owner see alike.
 *
 * The order of one dispatch:
 *
 *     const lanes = group.ready()                     // indices 0 … lanes - 1 hold until the next `ready`
 *     memory.ensure() && group.load(kernel, memory)   // cheap when nothing changed; false: run native
 *     group.fork(0, kernel.slot, 0, half, out)
 *     …the owner runs its own chunk…
 *     group.join(0)
 *
 * @since 0.1.0
 */

/**
 * A compiled chunk module. `slot` names it to the lanes: one number per pair of plan and guest memory, never used
 * for another pair while it is loaded.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kernel {
  readonly slot: number
  readonly module: WebAssembly.Module
}

/**
 * How a guest's memory is seen by the lanes, best first: pages of an owned memory mapped into each lane, a shared
 * memory that the guest was given, an owned memory of fixed size that was rewritten to shared, or the same thread.
 *
 * @category models
 * @since 0.1.0
 */
export type Rung = "alias" | "shared-given" | "shared-fixed" | "in-process"

/**
 * A guest memory that lanes can attach.
 *
 * @category models
 * @since 0.1.0
 */
export interface MappedMemory {
  readonly rung: Rung
  /** Identity of the bytes: a new number whenever lanes must attach afresh. */
  readonly id: number
  /**
   * Brings the mapping up to the memory's present address and length. Call before each dispatch. False: the memory
   * stays as it is and the loop runs native ({@link MappedMemory.reason} says why).
   */
  ensure(): boolean
  /** Bytes that lanes can reach: the length at the last successful {@link MappedMemory.ensure}. */
  readonly mappedBytes: number
  /** Why the last {@link MappedMemory.ensure} was refused. */
  readonly reason: string | undefined
  /** What a lane needs to attach (structured-cloneable). */
  descriptor(): MemoryDescriptor
  /** Gives back what only attaching lanes need. The guest keeps its memory; the next `ensure` begins afresh. */
  release(): void
}

/**
 * What is posted to a lane so that it can attach a memory.
 *
 * @category models
 * @since 0.1.0
 */
export type MemoryDescriptor =
  | { readonly rung: "alias"; readonly fd: number; readonly bytes: number }
  | { readonly rung: "shared"; readonly memory: WebAssembly.Memory }

/**
 * How a chunk ended in its lane. `trap`: it threw, and memory holds what it wrote before. `lost`: its thread is
 * gone or stands still, and memory may hold any part of what it would have written.
 *
 * @category models
 * @since 0.1.0
 */
export type JoinResult = "done" | "trap" | "lost"

/**
 * One lane in a report.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneReport {
  readonly state: "starting" | "ready" | "refused" | "lost" | "stopped"
  /** CPU it ran on last; -1 unknown. */
  readonly cpu: number
  /** Why it is refused or lost. */
  readonly reason: string | undefined
}

/**
 * State of a group of lanes as plain data.
 *
 * @category models
 * @since 0.1.0
 */
export interface LanesReport {
  /** Lanes asked for, the owner not counted. */
  readonly asked: number
  /** Lanes granted. */
  readonly count: number
  /** Lanes up now. */
  readonly ready: number
  /** Whether waiting lanes poll before they sleep. */
  readonly spins: boolean
  /** Whether lanes are bound to a CPU of their own. */
  readonly placed: boolean
  /** Why fewer lanes were granted than asked for, or why a facility is off; in order of discovery. */
  readonly reasons: ReadonlyArray<string>
  readonly lanes: ReadonlyArray<LaneReport>
}

/**
 * Lanes of one owner. All methods except `close` are synchronous and must be called on the owner's thread.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneGroup {
  /** Lanes granted besides the owner; shrinks when one is lost or cannot start. */
  readonly count: number
  /** Control memory (see `control.ts`): lane blocks, then the frame. */
  readonly control: WebAssembly.Memory
  /** Begins to start the lanes. Idempotent, never blocks. */
  start(): void
  /** Lanes up now. Their indices 0 … n - 1 stay valid until the next call. */
  ready(): number
  /** Lanes up that poll for a command at this moment. */
  hot(): number
  /** Hands a kernel and its memory to all lanes of the last {@link LaneGroup.ready}; false when one refuses. */
  load(kernel: Kernel, memory: MappedMemory): boolean
  /** The same without waiting for them: `pending`, they are at it and to be asked again. Absent where nobody waits. */
  beginLoad?(kernel: Kernel, memory: MappedMemory): boolean | "pending"
  /** Makes lanes forget kernels and memories that will not be used again. */
  unload(slots: ReadonlyArray<number>, memories: ReadonlyArray<number>): void
  /** Starts a chunk in an idle lane. */
  fork(lane: number, kernel: number, start: number, count: number, out: number): void
  /** Whether a lane has finished what it was last told; absent where a lane always has. */
  idle?(lane: number): boolean
  /** Waits for the chunk of a lane. */
  join(lane: number): JoinResult
  /** Moves a lane to another allowed CPU that is not the owner's; false when there is none. */
  replace(lane: number): boolean
  report(): LanesReport
  /** Stops the lanes and waits for their threads, at most for a deadline. Idempotent. */
  close(): Promise<void>
}
