/**
 * Which pages of a memory were written, as the operating system tells: asynchronous write protection of `userfaultfd`
 * and the `PAGEMAP_SCAN` request (Linux 6.7).
 *
 *     arm       every page is protected
 *     a write   the kernel takes the protection of that one page away, by itself, and goes on
 *     written   PAGEMAP_SCAN lists the pages that are not protected
 *
 * No page is missed, whoever writes: the module, the program through a view, or the kernel on behalf of a file read.
 * No privilege is needed where only faults of user mode are asked for; containers often refuse the call all the same.
 *
 * One descriptor serves all memories of a process, in all its threads, because they share one address space. It was
 * opened outside Node.js, so the end of a worker thread does not close it, and a thread that starts later gets its
 * number by the environment data of workers. The kernel forgets a memory when its pages are unmapped.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads"
import type { PageTracker } from "../../src/reset/checkpoint.ts"
import { RESET_PAGE } from "../../src/reset/layout.ts"
import { type NativeCalls, probeNative } from "./ffi.ts"
import { type PageFilter, PageIs, PageScan } from "./page-scan.ts"

/** Constants of `linux/userfaultfd.h` and `linux/fs.h`, equal on all supported architectures. */
const UFFD_API = 0xaan
const O_CLOEXEC = 0x80000
const O_NONBLOCK = 0x800
const UFFD_USER_MODE_ONLY = 1
const FEATURE_WP_UNPOPULATED = 1n << 13n
const FEATURE_WP_ASYNC = 1n << 15n
const UFFDIO_API = 0xc018aa3fn
const UFFDIO_REGISTER = 0xc020aa00n
const UFFDIO_UNREGISTER = 0x8010aa01n
const UFFDIO_WRITEPROTECT = 0xc018aa06n
const REGISTER_MODE_WP = 2n
const WRITEPROTECT_MODE_WP = 1n
const MADV_COLLAPSE = 25

/** Bytes of a huge page, and pages of it that must be in use already for the rest to be worth its memory. */
const HUGE_BYTES = 2 * 1024 * 1024
const HUGE_PAGES_IN_USE = 448

/** What one process has open. */
interface Descriptors {
  readonly faults: number
  readonly pagemap: number
}

const environmentKey = "folio-wasm/page-tracking"

/** Linux numbers of errors that a reader wants by name. */
const errorNames: Readonly<Record<number, string>> = { 1: "EPERM", 22: "EINVAL", 25: "ENOTTY", 38: "ENOSYS" }

const failure = (calls: NativeCalls, what: string): Error => {
  const errno = calls.errno()
  return new Error(`${what} is refused (${errorNames[errno] ?? `error ${errno}`})`)
}

const openDescriptors = (calls: NativeCalls): Descriptors => {
  const faults = calls.userfaultfd(O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)
  if (faults < 0) throw failure(calls, "userfaultfd")
  const api = new BigUint64Array([UFFD_API, FEATURE_WP_ASYNC | FEATURE_WP_UNPOPULATED, 0n])
  if (calls.ioctl(faults, UFFDIO_API, calls.address(api.buffer)) !== 0) {
    const error = failure(calls, "asynchronous write protection (Linux 6.7)")
    calls.close(faults)
    throw error
  }
  return { faults, pagemap: Fs.openSync("/proc/self/pagemap", "r") }
}

let descriptors: Descriptors | undefined

const descriptorsOf = (calls: NativeCalls): Descriptors => {
  if (descriptors !== undefined) return descriptors
  const known = getEnvironmentData(environmentKey) as Descriptors | undefined
  descriptors = known ?? openDescriptors(calls)
  // Files that a worker thread opens are closed at its end: only the main thread's are for everybody.
  if (known === undefined && isMainThread) setEnvironmentData(environmentKey, descriptors)
  return descriptors
}

/** Pages that were written. */
const WRITTEN: PageFilter = { inverted: 0n, required: PageIs.written, any: 0n, told: PageIs.written }

/** Pages that are in use: present, and not the page of zeros that reading maps. */
const IN_USE: PageFilter = {
  inverted: PageIs.zero,
  required: PageIs.present | PageIs.zero,
  any: 0n,
  told: PageIs.present
}

class KernelTracker implements PageTracker {
  readonly #calls: NativeCalls
  readonly #descriptors: Descriptors
  /** Kept, so that its pages stay what they are. */
  readonly #memory: WebAssembly.Memory
  readonly #address: bigint
  readonly #bytes: bigint
  readonly #protect: BigUint64Array<ArrayBuffer>
  readonly #protectAddress: bigint
  readonly #scan: PageScan
  readonly #base: number

  constructor(memory: WebAssembly.Memory, calls: NativeCalls, open: Descriptors) {
    this.#calls = calls
    this.#descriptors = open
    this.#memory = memory
    this.#address = calls.address(memory.buffer)
    this.#bytes = BigInt(memory.buffer.byteLength)
    const register = new BigUint64Array([this.#address, this.#bytes, REGISTER_MODE_WP, 0n])
    if (this.#bytes > 0n && calls.ioctl(open.faults, UFFDIO_REGISTER, calls.address(register.buffer)) !== 0) {
      throw failure(calls, "registering a memory with userfaultfd")
    }
    this.#protect = new BigUint64Array([this.#address, this.#bytes, WRITEPROTECT_MODE_WP])
    this.#protectAddress = calls.address(this.#protect.buffer)
    this.#base = Number(this.#address)
    this.#scan = new PageScan(calls, open.pagemap, this.#address, memory.buffer.byteLength)
    this.#collapse()
  }

  /**
   * Joins pages to huge ones where nearly all of a huge one are in use, so that a scan looks at one entry instead of
   * 512 (64 MiB: 6 µs instead of 19; Linux 6.18). The kernel splits one again when it is written, so what is told stays
   * exact to the page. Only advice: a host that refuses it is as sound, and slower.
   */
  #collapse(): void {
    const first = Math.ceil(this.#base / HUGE_BYTES) * HUGE_BYTES - this.#base
    const inUse = new Uint16Array(Math.max(0, Math.floor((Number(this.#bytes) - first) / HUGE_BYTES)))
    this.#each(IN_USE, (at, bytes) => {
      for (let page = at; page < at + bytes; page += RESET_PAGE) {
        const block = Math.floor((page - first) / HUGE_BYTES)
        if (block >= 0 && block < inUse.length) inUse[block]++
      }
    })
    for (const [block, pages] of inUse.entries()) {
      if (pages < HUGE_PAGES_IN_USE) continue
      this.#calls.madvise(this.#address + BigInt(first + block * HUGE_BYTES), HUGE_BYTES, MADV_COLLAPSE)
    }
  }

  arm(): void {
    if (this.#bytes === 0n) return
    this.#check()
    if (this.#calls.ioctl(this.#descriptors.faults, UFFDIO_WRITEPROTECT, this.#protectAddress) !== 0) {
      throw failure(this.#calls, "write-protecting a memory")
    }
  }

  written(restore: (at: number, bytes: number) => void): number {
    this.#check()
    return this.#each(WRITTEN, restore)
  }

  #each(filter: PageFilter, take: (at: number, bytes: number) => void): number {
    const pages = this.#scan.each(filter, take)
    if (pages < 0) throw failure(this.#calls, "PAGEMAP_SCAN")
    return pages
  }

  release(): void {
    if (this.#bytes === 0n) return
    const range = new BigUint64Array([this.#address, this.#bytes])
    this.#calls.ioctl(this.#descriptors.faults, UFFDIO_UNREGISTER, this.#calls.address(range.buffer))
  }

  /** The pages are those of the memory as long as it neither grew nor moved. */
  #check(): void {
    const { buffer } = this.#memory
    if (buffer.byteLength !== Number(this.#bytes) || this.#calls.address(buffer) !== this.#address) {
      throw new Error("the memory has grown or moved")
    }
  }
}

/**
 * Tracks the pages of an unshared memory. Throws in words where this process cannot.
 *
 * @category constructors
 * @since 0.1.0
 */
export const kernelTracker = (memory: WebAssembly.Memory): PageTracker => {
  const calls = probeNative()
  if (typeof calls === "string") throw new Error(calls)
  return new KernelTracker(memory, calls, descriptorsOf(calls))
}

/** Tries it: what is written is told, what is not is not, and a new beginning forgets. */
const attempt = (): string | undefined => {
  const memory = new WebAssembly.Memory({ initial: 2 })
  const bytes = new Uint8Array(memory.buffer)
  bytes.fill(1)
  const tracker = kernelTracker(memory)
  const seen = (): ReadonlyArray<string> => {
    const ranges: Array<string> = []
    tracker.written((at, length) => void ranges.push(`${at}+${length}`))
    return ranges
  }
  try {
    tracker.arm()
    const before = seen()
    bytes[5 * RESET_PAGE + 17] = 2
    const after = seen()
    tracker.arm()
    const expected = [`${5 * RESET_PAGE}+${RESET_PAGE}`]
    const right = before.length === 0 && after.join() === expected.join() && seen().length === 0
    return right ? undefined : `written pages are told wrongly (${[...before, "|", ...after].join(" ")})`
  } finally {
    tracker.release()
  }
}

let probed: { readonly reason: string | undefined } | undefined

/**
 * Why the operating system does not tell this thread which pages are written; `undefined` where it does. Tried once a
 * thread, on a small memory.
 *
 * @category probes
 * @since 0.1.0
 */
export const kernelTrackingRefusal = (): string | undefined => {
  if (probed === undefined) {
    try {
      probed = { reason: attempt() }
    } catch (error) {
      probed = { reason: error instanceof Error ? error.message : String(error) }
    }
  }
  return probed.reason
}
