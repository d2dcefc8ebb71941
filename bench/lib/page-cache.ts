/**
 * What a bench asks of the operating system: to forget a file, and how often the thread was interrupted.
 */
import * as Fs from "node:fs"
import { Linux, probeNative, withoutFfiWarning } from "../../layers/node/ffi.ts"

const RUSAGE_THREAD = 1
/** Where `getrusage` has voluntary and involuntary switches, in words of 64 bits. */
const SWITCHES = [16, 17] as const

const system = withoutFfiWarning(() => {
  const ffi = process.getBuiltinModule("node:ffi")
  const { functions } = ffi.dlopen(null, {
    getrusage: { arguments: ["int32", "uint64"], return: "int32" }
  })
  return { functions, address: (buffer: ArrayBuffer) => ffi.getRawPointer(buffer) }
})

/** Writes a file to its disk and drops its pages from the page cache. @category system @since 0.1.0 */
export const forgetFile = (path: string): void => {
  const fd = Fs.openSync(path, "r")
  try {
    Fs.fdatasyncSync(fd)
    const calls = probeNative()
    if (typeof calls === "string") throw new Error(calls)
    const error = calls.fadvise(fd, 0, 0, Linux.FADV_DONTNEED)
    if (error !== 0) throw new Error(`posix_fadvise of ${path} fails (error ${error})`)
  } finally {
    Fs.closeSync(fd)
  }
}

const usage = new BigUint64Array(18)
const usageAddress = system.address(usage.buffer)

/** Times that this thread has left its CPU. A request during which the number stays was not preempted. @category system @since 0.1.0 */
export const threadSwitches = (): number => {
  system.functions.getrusage(RUSAGE_THREAD, usageAddress)
  return SWITCHES.reduce((sum, word) => sum + Number(usage[word]), 0)
}
