/**
 * What a lane does from its first to its last moment: wait for a command, carry it out, acknowledge it.
 *
 * `laneMain` is sent to the lane as text (`laneMain.toString()`). It refers to nothing outside itself: the constants
 * of `control.ts` come in as {@link LaneLayout}, what depends on the kind of host as {@link LaneHost}.
 *
 * @since 0.1.0
 */
import type * as Control from "./control.ts"
import type { MemoryDescriptor } from "./lanes.ts"

/**
 * The constants of `control.ts` that a lane works with.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneLayout {
  readonly CONTROL_MAGIC: typeof Control.CONTROL_MAGIC
  readonly CONTROL_VERSION: typeof Control.CONTROL_VERSION
  readonly LANE_WORDS: typeof Control.LANE_WORDS
  readonly Word: typeof Control.Word
  readonly Opcode: typeof Control.Opcode
  readonly LaneState: typeof Control.LaneState
  readonly LaneError: typeof Control.LaneError
  /** First byte of the tickets, and where a ticket holds its private windows. */
  readonly TICKETS: number
  readonly TICKET_WINDOWS: number
  readonly TICKET_ABORT: number
}

/**
 * What a LOAD command brings. Dropping comes first; a dropped memory takes its kernels with it.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneMessage {
  readonly dropKernels: ReadonlyArray<number>
  readonly dropMemories: ReadonlyArray<number>
  readonly memories: ReadonlyArray<{ readonly id: number; readonly descriptor: MemoryDescriptor }>
  readonly kernels: ReadonlyArray<
    { readonly slot: number; readonly memory: number; readonly module: WebAssembly.Module }
  >
}

/**
 * What a lane needs from the kind of host that it runs on.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneHost {
  /** Which block of the control memory is its own. */
  readonly lane: number
  readonly control: WebAssembly.Memory
  /** The message that a LOAD command has brought. */
  receive(): LaneMessage
  /** Tells the owner why a LOAD failed. */
  explain(reason: string): void
  /** Attaches a memory; `present` is what the same identity has been attached as before, to be grown. */
  attach(descriptor: MemoryDescriptor, present: WebAssembly.Memory | undefined): WebAssembly.Memory
  /**
   * Makes pages of an attached memory the lane's own, with the bytes they have now (`shared` false), or shared again.
   * Throws where the host cannot.
   */
  window(memory: WebAssembly.Memory, page: number, pages: number, shared: boolean): void
  /** Gives back the pages of a memory that will not be used again. */
  detach(memory: WebAssembly.Memory): void
  /** CPU that runs the lane; -1 unknown. */
  cpu(): number
  /** Operating-system id of the lane's thread; 0 unknown. */
  thread(): number
  /** Milliseconds of a clock that never goes back. */
  now(): number
}

/**
 * Runs a lane until it is told to stop.
 *
 * @category lanes
 * @since 0.1.0
 */
export const laneMain = (host: LaneHost, layout: LaneLayout): void => {
  const { LaneError, LaneState, Opcode, Word } = layout
  const words = new Int32Array(host.control.buffer)
  const base = host.lane * layout.LANE_WORDS
  const MAGIC = base + Word.MAGIC
  const VERSION = base + Word.VERSION
  const SEQUENCE = base + Word.SEQUENCE
  const DONE = base + Word.DONE
  const STATE = base + Word.STATE
  if (words[MAGIC] !== layout.CONTROL_MAGIC || words[VERSION] !== layout.CONTROL_VERSION) {
    throw new Error(`control words of version ${words[VERSION]} where ${layout.CONTROL_VERSION} was expected`)
  }

  const memories = new Map<number, WebAssembly.Memory>()
  const kernels = new Map<number, { readonly memory: number; readonly run: (...at: Array<number>) => void }>()
  const pause: () => void = (Atomics as { pause?: () => void }).pause ?? (() => {})
  /** Polls between two looks at the clock, which costs as much as several polls. */
  const pollsPerLook = 32

  const drop = (id: number): void => {
    const memory = memories.get(id)
    if (memory === undefined) return
    memories.delete(id)
    for (const [slot, kernel] of kernels) if (kernel.memory === id) kernels.delete(slot)
    host.detach(memory)
  }

  const load = (message: LaneMessage): void => {
    for (const slot of message.dropKernels) kernels.delete(slot)
    for (const id of message.dropMemories) drop(id)
    for (const { descriptor, id } of message.memories) {
      try {
        memories.set(id, host.attach(descriptor, memories.get(id)))
      } catch (error) {
        // A memory that is attached in part would show the lane other bytes than the owner's.
        drop(id)
        throw error
      }
    }
    for (const { memory, module, slot } of message.kernels) {
      const imports = { folio: { memory: memories.get(memory)!, control: host.control } }
      const { run } = new WebAssembly.Instance(module, imports).exports
      if (typeof run !== "function") throw new Error("the chunk module exports no function run")
      kernels.set(slot, { memory, run: run as (...at: Array<number>) => void })
    }
  }

  /** Waits until the owner has counted SEQUENCE past `done`. */
  const awaitCommand = (done: number): number => {
    const spin = Atomics.load(words, base + Word.SPIN_US)
    if (spin > 0) {
      Atomics.store(words, STATE, LaneState.SPINNING)
      const deadline = host.now() + spin / 1000
      do {
        for (let poll = 0; poll < pollsPerLook; poll++) {
          const sequence = Atomics.load(words, SEQUENCE)
          if (sequence !== done) return sequence
          pause()
        }
      } while (host.now() < deadline)
    }
    // The owner notifies when it reads SLEEPING after it has stored SEQUENCE, and `wait` looks at SEQUENCE after
    // SLEEPING was stored: one of the two sees the other.
    Atomics.store(words, STATE, LaneState.SLEEPING)
    let sequence = Atomics.load(words, SEQUENCE)
    while (sequence === done) {
      Atomics.wait(words, SEQUENCE, done)
      sequence = Atomics.load(words, SEQUENCE)
    }
    return sequence
  }

  /** Switches the private windows that a ticket names; false where the host cannot. */
  const switchWindows = (memory: WebAssembly.Memory, ticket: number, shared: boolean): boolean => {
    const at = (ticket + layout.TICKET_WINDOWS) >> 2
    try {
      for (let k = 0; k < words[at]; k++) host.window(memory, words[at + 1 + 2 * k], words[at + 2 + 2 * k], shared)
      return true
    } catch {
      return false
    }
  }

  /** Takes pieces of a ticket (`START`) until none is left. */
  const runPieces = (kernel: { readonly memory: number; readonly run: (...at: Array<number>) => void }): number => {
    const start = words[base + Word.START]
    const isTicket = start >= layout.TICKETS && start < 65536 && (start & 63) === 0
    const memory = memories.get(kernel.memory)!
    // Without pages of its own the lane takes no piece: the others do.
    if (isTicket && !switchWindows(memory, start, false)) {
      if (!switchWindows(memory, start, true)) throw new Error("pages that were made private cannot be shared again")
      return LaneError.NONE
    }
    let outcome: number = LaneError.NONE
    try {
      kernel.run(start, words[base + Word.COUNT], words[base + Word.OUT])
    } catch {
      // No further piece is handed out.
      if (isTicket) Atomics.store(words, (start + layout.TICKET_ABORT) >> 2, 1)
      outcome = LaneError.TRAP
    }
    // A lane that would go on with pages of its own ends instead, and is found lost.
    if (isTicket && !switchWindows(memory, start, true)) {
      throw new Error("pages that were made private cannot be shared again")
    }
    return outcome
  }

  const carryOut = (opcode: number): number => {
    if (opcode === Opcode.RUN) {
      const kernel = kernels.get(words[base + Word.KERNEL])
      return kernel === undefined ? LaneError.LOAD : runPieces(kernel)
    }
    if (opcode === Opcode.LOAD) {
      try {
        load(host.receive())
      } catch (error) {
        host.explain(error instanceof Error ? error.message : String(error))
        return LaneError.LOAD
      }
    }
    return LaneError.NONE
  }

  Atomics.store(words, base + Word.TID, host.thread())
  Atomics.store(words, base + Word.CPU, host.cpu())
  let done = Atomics.load(words, DONE)
  let opcode: number = Opcode.NONE
  // From here on the lane counts as ready; an owner may be asleep until then.
  Atomics.store(words, STATE, LaneState.SLEEPING)
  Atomics.notify(words, STATE)
  while (opcode !== Opcode.STOP) {
    done = awaitCommand(done)
    Atomics.store(words, STATE, LaneState.RUNNING)
    opcode = words[base + Word.OPCODE]
    words[base + Word.ERROR] = carryOut(opcode)
    Atomics.store(words, DONE, done)
    if (Atomics.load(words, base + Word.OWNER_WAITING) !== 0) Atomics.notify(words, DONE)
    Atomics.store(words, base + Word.CPU, host.cpu())
  }
  Atomics.store(words, STATE, LaneState.STOPPED)
}
