/**
 * The lane's side on Node.js: the program of its worker thread, as text.
 *
 * @since 0.1.0
 */
import type * as Ffi from "node:ffi"
import type * as Fs from "node:fs"
import { isMainThread, type MessagePort, workerData } from "node:worker_threads"
import * as Control from "../../src/lane/control.ts"
import type { MemoryDescriptor } from "../../src/lane/lanes.ts"
import { type LaneHost, type LaneLayout, laneMain, type LaneMessage } from "../../src/lane/runner.ts"
import { Ticket, TICKETS } from "../../src/plan/frame.ts"
import { Linux, withoutFfiWarning } from "./ffi.ts"

/**
 * Key of a worker's data under which a lane is known as such.
 *
 * @category constants
 * @since 0.1.0
 */
export const LANE_MARKER = "folio-wasm/lane"

/**
 * What the owner gives a lane's worker.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneData {
  readonly [LANE_MARKER]: true
  readonly lane: number
  readonly control: WebAssembly.Memory
  readonly port: MessagePort
}

/**
 * Whether this thread is a lane. A preloaded module asks this first and then does nothing.
 *
 * @category probes
 * @since 0.1.0
 */
export const isLane = (): boolean =>
  !isMainThread && typeof workerData === "object" && workerData !== null && workerData[LANE_MARKER] === true

/** Makes the host facilities of a lane. Sent as text: refers to nothing outside itself but global names. */
const nodeLaneHost = (constants: typeof Linux, quietly: typeof withoutFfiWarning): LaneHost => {
  const { receiveMessageOnPort, workerData } = process.getBuiltinModule("node:worker_threads")
  const fs: typeof Fs = process.getBuiltinModule("node:fs")
  const { control, lane, port } = workerData as LaneData
  const pageBytes = 65536

  const native = (() => {
    try {
      return quietly(() => {
        const ffi: typeof Ffi = process.getBuiltinModule("node:ffi")
        const { functions } = ffi.dlopen(null, {
          mmap: { arguments: ["uint64", "uint64", "int32", "int32", "int32", "int64"], return: "uint64" },
          sched_getcpu: { arguments: [], return: "int32" }
        })
        return { address: ffi.getRawPointer, ...functions }
      })
    } catch {
      return undefined
    }
  })()

  const map = (memory: WebAssembly.Memory, from: number, flags: number, fd: number): void => {
    if (native === undefined) throw new Error("this lane cannot map memory")
    const at = native.address(memory.buffer) + BigInt(from)
    const bytes = BigInt(memory.buffer.byteLength - from)
    const mapped = native.mmap(at, bytes, constants.PROT_READ_WRITE, flags | constants.MAP_FIXED, fd, BigInt(from))
    if (mapped !== at) throw new Error("mmap failed")
  }

  /** Memories that are mapped, and so have pages to give back; with the file behind them. */
  const mapped = new Map<WebAssembly.Memory, number>()
  const windowBytes = 4096

  return {
    lane,
    control,
    receive: () => {
      const received = receiveMessageOnPort(port)
      if (received === undefined) throw new Error("a LOAD command without a message")
      return received.message as LaneMessage
    },
    explain: (reason) => port.postMessage(reason),
    attach: (descriptor: MemoryDescriptor, present) => {
      if (descriptor.rung === "shared") return descriptor.memory
      const pages = descriptor.bytes / pageBytes
      const memory = present ?? new WebAssembly.Memory({ initial: pages })
      let from = 0
      if (present !== undefined) {
        const address = native?.address(present.buffer)
        const bytes = present.buffer.byteLength
        present.grow(pages - bytes / pageBytes)
        if (native?.address(present.buffer) === address) from = bytes
      }
      if (from < descriptor.bytes) map(memory, from, constants.MAP_SHARED, descriptor.fd)
      mapped.set(memory, descriptor.fd)
      return memory
    },
    window: (memory, page, pages, shared) => {
      const fd = mapped.get(memory)
      if (native === undefined || fd === undefined) throw new Error("this memory has no pages of its own to give")
      const from = BigInt(page * windowBytes)
      const at = native.address(memory.buffer) + from
      const flags = constants.MAP_FIXED | (shared ? constants.MAP_SHARED : constants.MAP_PRIVATE)
      const bytes = BigInt(pages * windowBytes)
      if (native.mmap(at, bytes, constants.PROT_READ_WRITE, flags, fd, from) !== at) throw new Error("mmap failed")
    },
    detach: (memory) => {
      if (!mapped.delete(memory)) return
      map(memory, 0, constants.MAP_PRIVATE | constants.MAP_ANONYMOUS | constants.MAP_NORESERVE, -1)
    },
    cpu: () => native?.sched_getcpu() ?? -1,
    thread: () => Number(fs.readlinkSync("/proc/thread-self").split("/").at(-1)),
    now: () => performance.now()
  }
}

/**
 * The program of a lane.
 *
 * @category constructors
 * @since 0.1.0
 */
export const laneSource = (): string => {
  const { CONTROL_MAGIC, CONTROL_VERSION, LANE_WORDS, LaneError, LaneState, Opcode, Word } = Control
  const layout: LaneLayout = {
    CONTROL_MAGIC,
    CONTROL_VERSION,
    LANE_WORDS,
    LaneError,
    LaneState,
    Opcode,
    Word,
    TICKETS,
    TICKET_WINDOWS: Ticket.WINDOWS,
    TICKET_ABORT: Ticket.ABORT
  }
  const host = `(${nodeLaneHost.toString()})(${JSON.stringify(Linux)}, ${withoutFfiWarning.toString()})`
  return `"use strict"\n;(${laneMain.toString()})(${host}, ${JSON.stringify(layout)})`
}
