/**
 * The alias rung: a guest's owned, unshared, growable memory whose pages lanes see too.
 *
 *     before                       adopt                        a lane
 *     memory ── private pages      memory ──┐                   memory of its own ──┐
 *                                           ├── memfd ──────────────────────────────┘
 *                                  (same address, same bytes, same ArrayBuffer)
 *
 * At the first use the bytes are copied once into an anonymous file (`memfd_create`), and the file is mapped over the
 * address range of the memory (`mmap` with `MAP_SHARED | MAP_FIXED`). Nothing that the guest or its glue can see
 * changes: the buffer object, its kind, growth and detachment are V8's own. Growth leaves the base address where it is
 * and adds private pages at the end; the next {@link AliasMapping.ensure} maps these too. A mapping keeps its file
 * alive, so each side survives the end of the other; the file descriptor only serves sides that are still to attach.
 *
 * Pages are mapped when they are first touched. `MAP_POPULATE` would map them at once: no faster in sum (64 MiB: 5 ms in
 * either case, Node.js 26, Linux 6.18), and it would give every untouched page of the guest a page of memory.
 *
 * `ensure` runs on the guest's own thread and nothing of the guest runs meanwhile. A host that has an asynchronous
 * write into the memory under way at that moment (a file read into a view, say) breaks the contract, as it would
 * during a run.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import type { MappedMemory, MemoryDescriptor } from "../../src/lane/lanes.ts"
import { isSharedBuffer } from "../../src/wire/realm.ts"
import { Linux, type NativeCalls } from "./ffi.ts"
import { nextMemoryId } from "./shared.ts"

/**
 * Most memories of one thread that can be aliased at a time: each holds a file descriptor, and the program may need
 * its own.
 *
 * @category constants
 * @since 0.1.0
 */
export const MAXIMUM_ALIASES = 256

/** Failed attempts in a row after which a memory is left alone for good. */
const maximumAttempts = 3

/** Unit of looking for zeros: they need not be copied, a hole in the file reads as zeros. */
const blockBytes = 65536
const zeroBlock = new Uint8Array(blockBytes)

/** Bytes of one `pwrite` or `pread`; Linux moves at most 2 GiB - 4 KiB a call. */
const transferBytes = 1 << 28

/** What outlives the memory: closed when the memory is collected. */
interface OpenFile {
  fd: number | undefined
}

let openAliases = 0

const closeFile = (file: OpenFile): void => {
  if (file.fd === undefined) return
  const { fd } = file
  file.fd = undefined
  openAliases--
  try {
    Fs.closeSync(fd)
  } catch {
    // Somebody has closed it for us; it is not ours any more either way.
  }
}

const collected = new FinalizationRegistry(closeFile)

/** Why a step failed, as the message of the refusal. */
class Refused extends Error {}

/**
 * The mapping of one owned memory. Made by {@link aliasMapping}.
 *
 * @category models
 * @since 0.1.0
 */
export class AliasMapping implements MappedMemory {
  readonly rung = "alias"
  readonly #memory: WeakRef<WebAssembly.Memory>
  readonly #calls: NativeCalls
  readonly #file: OpenFile = { fd: undefined }
  #id = nextMemoryId()
  #address = 0n
  #mappedBytes = 0
  /** The buffer object at the last success: the same object with the same length has the same address. */
  #buffer: WeakRef<ArrayBufferLike> | undefined
  #attempts = 0
  #reason: string | undefined

  constructor(memory: WebAssembly.Memory, calls: NativeCalls) {
    this.#memory = new WeakRef(memory)
    this.#calls = calls
    collected.register(memory, this.#file)
  }

  get id(): number {
    return this.#id
  }

  get mappedBytes(): number {
    return this.#mappedBytes
  }

  get reason(): string | undefined {
    return this.#reason
  }

  ensure(): boolean {
    const buffer = this.#memory.deref()?.buffer
    if (buffer === undefined) return false
    const bytes = buffer.byteLength
    if (this.#file.fd !== undefined && bytes === this.#mappedBytes && buffer === this.#buffer?.deref()) return true
    if (this.#attempts >= maximumAttempts) return false
    try {
      this.#update(buffer, bytes)
      this.#buffer = new WeakRef(buffer)
      this.#attempts = 0
      this.#reason = undefined
      return true
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      this.#attempts++
      this.#reason = error.message
      return false
    }
  }

  descriptor(): MemoryDescriptor {
    if (this.#file.fd === undefined) throw new Error("the memory is not mapped: call ensure() first")
    return { rung: "alias", fd: this.#file.fd, bytes: this.#mappedBytes }
  }

  release(): void {
    closeFile(this.#file)
    this.#mappedBytes = 0
  }

  #update(buffer: ArrayBufferLike, bytes: number): void {
    if (isSharedBuffer(buffer)) throw new Refused("the memory is shared")
    if (bytes === 0) throw new Refused("the memory is empty")
    const address = this.#calls.address(buffer)
    if (this.#file.fd !== undefined && address === this.#address && bytes === this.#mappedBytes) return
    const continues = this.#file.fd !== undefined && address === this.#address && bytes > this.#mappedBytes
    if (!continues) {
      // Never mapped, released, or moved: begin with a new file, under a new identity.
      this.release()
      this.#id = nextMemoryId()
      this.#file.fd = this.#create()
      openAliases++
      this.#address = address
    }
    try {
      this.#extend(new Uint8Array(buffer), this.#file.fd!, this.#mappedBytes, bytes)
      this.#mappedBytes = bytes
    } catch (error) {
      if (!continues) this.release()
      throw error
    }
  }

  /**
   * An empty anonymous file under a descriptor that Node.js knows, and so closes when it ends a worker thread; one
   * straight from `memfd_create` would stay open until the end of the process.
   */
  #create(): number {
    if (openAliases >= MAXIMUM_ALIASES) throw new Refused(`${MAXIMUM_ALIASES} memories are aliased already`)
    const raw = this.#calls.memfdCreate("folio-memory", Linux.MFD_CLOEXEC)
    if (raw < 0) throw this.#failure("memfd_create")
    try {
      return Fs.openSync(`/proc/self/fd/${raw}`, "r+")
    } catch (error) {
      throw new Refused(`the file cannot be opened: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      this.#calls.close(raw)
    }
  }

  /** Makes file and mapping reach from `from` to `to`. On failure the memory is as before and the file ends at `from`. */
  #extend(view: Uint8Array, fd: number, from: number, to: number): void {
    const room = process.availableMemory?.() ?? Number.POSITIVE_INFINITY
    if (to - from > room / 2) throw new Refused(`${to - from} bytes to copy, ${room} bytes of memory available`)
    if (this.#calls.ftruncate(fd, to) !== 0) throw this.#failure("ftruncate")
    try {
      this.#copy(view, fd, from, to)
      this.#map(fd, from, to)
    } catch (error) {
      // The next attempt skips blocks of zeros, so nothing may be left in the file.
      if (this.#calls.ftruncate(fd, from) !== 0) this.#attempts = maximumAttempts
      throw error
    }
  }

  #copy(view: Uint8Array, fd: number, from: number, to: number): void {
    const isZero = (block: number): boolean =>
      Buffer.compare(view.subarray(block, Math.min(block + blockBytes, to)), zeroBlock) === 0
    for (let at = from; at < to;) {
      if (isZero(at)) {
        at += blockBytes
        continue
      }
      let end = at + blockBytes
      while (end < to && end - at < transferBytes && !isZero(end)) end += blockBytes
      this.#transfer("pwrite", fd, at, end)
      at = end
    }
  }

  #transfer(direction: "pwrite" | "pread", fd: number, from: number, to: number): void {
    for (let at = from; at < to;) {
      const moved = this.#calls[direction](fd, this.#address + BigInt(at), Math.min(to - at, transferBytes), at)
      if (moved > 0) at += moved
      else if (moved === 0 || this.#calls.errno() !== Linux.EINTR) throw this.#failure(direction)
    }
  }

  #map(fd: number, from: number, to: number): void {
    const target = this.#address + BigInt(from)
    const flags = Linux.MAP_SHARED | Linux.MAP_FIXED
    if (this.#calls.mmap(target, to - from, Linux.PROT_READ_WRITE, flags, fd, from) === target) return
    const failure = this.#failure("mmap")
    // A failed MAP_FIXED may have taken away what was mapped there. The file has the bytes: put them back.
    if (this.#isMapped(fd, from, to)) throw failure
    const anonymous = Linux.MAP_PRIVATE | Linux.MAP_ANONYMOUS | Linux.MAP_FIXED
    if (this.#calls.mmap(target, to - from, Linux.PROT_READ_WRITE, anonymous, -1, 0) !== target) {
      throw new Error(`the pages of a memory are lost (${failure.message})`)
    }
    this.#transfer("pread", fd, from, to)
    throw failure
  }

  /**
   * Whether every page is still there, asked in a way that cannot fault: writing from an unmapped page fails with
   * `EFAULT`, where reading it would end the process. The bytes written are those that the file holds already.
   */
  #isMapped(fd: number, from: number, to: number): boolean {
    const pageBytes = 4096
    for (let at = from; at < to; at += pageBytes) {
      if (this.#calls.pwrite(fd, this.#address + BigInt(at), 1, at) < 0 && this.#calls.errno() === Linux.EFAULT) {
        return false
      }
    }
    return true
  }

  #failure(call: string): Refused {
    return new Refused(`${call} failed (error ${this.#calls.errno()})`)
  }
}

const mappings = new WeakMap<WebAssembly.Memory, AliasMapping>()

/**
 * The mapping of an owned memory: one per memory object, whichever instances use it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const aliasMapping = (memory: WebAssembly.Memory, calls: NativeCalls): AliasMapping => {
  let mapping = mappings.get(memory)
  if (mapping === undefined) mappings.set(memory, mapping = new AliasMapping(memory, calls))
  return mapping
}
