/**
 * Inputs and results on their way through a mailbox: in its arena where they are small, else in messages.
 *
 * | value | goes |
 * | --- | --- |
 * | plain data below 16 KiB | coded in the arena |
 * | what else the serialiser takes, below 16 KiB | serialised in the arena |
 * | buffers that are handed over | in a message, moved and not copied |
 * | large views and buffers | in a message, copied |
 * | what else the serialiser takes | serialised, in a message |
 * | what else can be posted: ports, shared memory, modules | in a message |
 *
 * @since 0.1.0
 */
import { types } from "node:util"
import { Deserializer, Serializer } from "node:v8"
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads"
import type { BumpArena } from "../../src/tasks/arena.ts"
import { ValueReader, ValueWriter } from "../../src/tasks/codec.ts"
import { ARENA_PAYLOAD, type Mailbox, Way } from "../../src/tasks/mailbox.ts"

/**
 * Most characters of a task's name.
 *
 * @category constants
 * @since 0.1.0
 */
export const NAME_CHARACTERS = 1_000

/** What a payload takes of the arena at most, behind a name of two bytes a character. */
const RESERVED = ARENA_PAYLOAD + 2 * NAME_CHARACTERS + 64

const serialize = (value: unknown): Uint8Array<ArrayBuffer> => {
  const serializer = new Serializer()
  serializer.writeHeader()
  serializer.writeValue(value)
  return serializer.releaseBuffer() as Uint8Array<ArrayBuffer>
}

const deserialize = (bytes: Uint8Array): unknown => {
  const deserializer = new Deserializer(bytes)
  deserializer.readHeader()
  return deserializer.readValue()
}

/** Bytes of a value, or `undefined` where the serialiser does not take it. Not every host has a serialiser. */
const serialized = (value: unknown): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return serialize(value)
  } catch {
    return undefined
  }
}

const sizeOf = (value: unknown): number =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer ? value.byteLength : 0

/**
 * A clock of milliseconds since another thread began, by that thread's `performance.timeOrigin`: what it tells compares
 * with what `performance.now()` tells there, and is as fine.
 *
 * @category clocks
 * @since 0.1.0
 */
export const clockSince = (origin: number): () => number => {
  const later = performance.timeOrigin - origin
  return () => performance.now() + later
}

/**
 * Sends payloads of one direction. Its fields tell of the newest one.
 *
 * @category models
 * @since 0.1.0
 */
export class PayloadSender {
  readonly #arena: BumpArena
  readonly #bytes: Uint8Array
  readonly #writer: ValueWriter
  readonly #port: MessagePort
  /** One of {@link Way}. */
  way: number = Way.CODED
  /** Where the payload lies in the mailbox, and the name in front of it; -1 where there is none. */
  at = 0
  nameAt = -1
  /** Bytes of the payload; -1 where nobody tells. */
  bytes = 0
  /** Milliseconds that posting a message took; 0 without one. */
  postMs = 0

  constructor(mailbox: Mailbox, arena: BumpArena, port: MessagePort) {
    this.#arena = arena
    this.#bytes = mailbox.bytes
    this.#writer = new ValueWriter(mailbox.bytes, types.isProxy)
    this.#port = port
  }

  /** Whether the arena has room for a payload. Without, it goes as a message. */
  get hasRoom(): boolean {
    return this.#arena.reserve(RESERVED) >= 0
  }

  /** Takes back the room of the oldest payload. */
  release(): void {
    this.#arena.release()
  }

  /** Has its turn with nothing to send, so that what is given back stays in step. */
  skip(): void {
    this.#arena.take(-1, -1)
  }

  /** Sends a value. Throws what `postMessage` throws, and nothing was sent then. */
  send(value: unknown, transfer: ReadonlyArray<ArrayBuffer>): void {
    const start = this.#arena.reserve(RESERVED)
    this.nameAt = -1
    this.#arena.take(start, this.#sendAt(start, value, transfer))
  }

  /** The same behind a name, for which there must be room. */
  sendNamed(name: string, value: unknown, transfer: ReadonlyArray<ArrayBuffer>): void {
    const start = this.#arena.reserve(RESERVED)
    this.nameAt = start
    this.#arena.take(start, this.#sendAt(this.#writer.write(name, start, start + RESERVED), value, transfer))
  }

  /** Where the room ends that the value takes at `at`, which is negative where there is none. */
  #sendAt(at: number, value: unknown, transfer: ReadonlyArray<ArrayBuffer>): number {
    this.at = at
    this.postMs = 0
    if (at >= 0 && transfer.length === 0) {
      const end = this.#writer.write(value, at, at + ARENA_PAYLOAD)
      if (end >= 0) return this.#sent(Way.CODED, end - at, end)
    }
    const moved = transfer.reduce((sum, { byteLength }) => sum + byteLength, 0)
    const size = transfer.length > 0 ? moved : sizeOf(value)
    if (size >= ARENA_PAYLOAD || transfer.length > 0) {
      this.#post(value, transfer)
      return this.#sent(transfer.length > 0 ? Way.MOVED : Way.POSTED, size, at)
    }
    const data = serialized(value)
    if (data === undefined) {
      this.#post(value, [])
      return this.#sent(Way.POSTED, -1, at)
    }
    const { length } = data
    if (at < 0 || length > ARENA_PAYLOAD) {
      this.#post(data, [data.buffer])
      return this.#sent(Way.POSTED_BYTES, length, at)
    }
    this.#bytes.set(data, at)
    return this.#sent(Way.SERIALIZED, length, at + length)
  }

  #sent(way: number, bytes: number, end: number): number {
    this.way = way
    this.bytes = bytes
    return end
  }

  #post(message: unknown, transfer: ReadonlyArray<ArrayBuffer>): void {
    const before = performance.now()
    this.#port.postMessage(message, transfer as Array<ArrayBuffer>)
    this.postMs = performance.now() - before
  }
}

/**
 * Receives payloads of one direction, in the order in which they were sent.
 *
 * @category models
 * @since 0.1.0
 */
export class PayloadReceiver {
  readonly #bytes: Uint8Array
  readonly #reader: ValueReader
  readonly #port: MessagePort

  constructor(mailbox: Mailbox, port: MessagePort) {
    this.#bytes = mailbox.bytes
    this.#reader = new ValueReader(mailbox.bytes)
    this.#port = port
  }

  receive(way: number, at: number, bytes: number): unknown {
    switch (way) {
      case Way.CODED:
        return this.#reader.read(at)
      case Way.SERIALIZED:
        return deserialize(Uint8Array.from(this.#bytes.subarray(at, at + bytes)))
      case Way.POSTED_BYTES:
        return deserialize(receiveMessageOnPort(this.#port)!.message as Uint8Array)
      default:
        return receiveMessageOnPort(this.#port)!.message
    }
  }

  /** A name in front of an input. */
  name(at: number): string {
    return this.#reader.read(at) as string
  }

  /** Passes over a payload that nobody wants any more. */
  drop(way: number): void {
    if (way !== Way.CODED && way !== Way.SERIALIZED) receiveMessageOnPort(this.#port)
  }
}
