/**
 * The few operating-system calls that Folio needs and Node.js has no function for, through `node:ffi`.
 *
 * `node:ffi` exists from Node.js 26 on, can be switched off (`--no-experimental-ffi`, `--permission` without
 * `--allow-ffi`), and says on standard error that it is experimental when first used. {@link probeNative} answers with
 * the calls or with the reason why there are none; nothing here throws.
 *
 * @since 0.1.0
 */
import type * as Ffi from "node:ffi"

/**
 * Constants of Linux, equal on all architectures in {@link supportedArchitectures}.
 *
 * @category constants
 * @since 0.1.0
 */
export const Linux = {
  PROT_READ_WRITE: 0x3,
  MAP_SHARED: 0x1,
  MAP_PRIVATE: 0x2,
  MAP_FIXED: 0x10,
  MAP_ANONYMOUS: 0x20,
  MAP_NORESERVE: 0x4000,
  MAP_POPULATE: 0x8000,
  MFD_CLOEXEC: 0x1,
  MADV_POPULATE_WRITE: 23,
  FADV_WILLNEED: 3,
  FADV_DONTNEED: 4,
  EFAULT: 14,
  EINTR: 4
} as const

/**
 * Architectures whose Linux has 64-bit addresses, little-endian words and the constants above.
 *
 * @category constants
 * @since 0.1.0
 */
export const supportedArchitectures: ReadonlyArray<string> = ["x64", "arm64", "riscv64", "loong64"]

/**
 * Operating-system calls as synchronous functions. Those that return a number return -1 on failure, and
 * {@link NativeCalls.errno} then tells which.
 *
 * @category models
 * @since 0.1.0
 */
export interface NativeCalls {
  /** Address of the first byte of a buffer. */
  address(buffer: ArrayBufferLike): bigint
  /** Address of the mapping, or `undefined` when there is none. */
  mmap(
    address: bigint,
    bytes: number,
    protection: number,
    flags: number,
    fd: number,
    offset: number
  ): bigint | undefined
  munmap(address: bigint, bytes: number): number
  madvise(address: bigint, bytes: number, advice: number): number
  memfdCreate(name: string, flags: number): number
  ftruncate(fd: number, bytes: number): number
  /** Bytes written, which may be fewer than asked for. */
  pwrite(fd: number, address: bigint, bytes: number, offset: number): number
  /** Bytes read, which may be fewer than asked for. */
  pread(fd: number, address: bigint, bytes: number, offset: number): number
  /** Tells what will be done with a range of a file: advice, which may be ignored. */
  fadvise(fd: number, offset: number, bytes: number, advice: number): number
  close(fd: number): number
  /** A file descriptor that handles page faults of this process. */
  userfaultfd(flags: number): number
  /** `argument` is the address of the request's structure. */
  ioctl(fd: number, request: bigint, argument: bigint): number
  /** Allows a thread (0: the calling one) the given CPUs only; false when the system refuses. */
  setAffinity(thread: number, cpus: ReadonlyArray<number>): boolean
  /** CPUs allowed to a thread (0: the calling one); `undefined` when the system refuses. */
  getAffinity(thread: number): ReadonlyArray<number> | undefined
  /** CPU that runs the caller at this moment. */
  currentCpu(): number
  /** Operating-system id of the calling thread. */
  threadId(): number
  /** Has a signal's handler called once at most: the next such signal does what it does where nobody listens. */
  endOnSecond(signal: number): boolean
  /** Error number left by the newest failed call, as far as nothing has overwritten it. */
  errno(): number
}

/** Bytes of a CPU mask: room for 1,024 CPUs, as `cpu_set_t` of glibc. */
const cpuMaskBytes = 128

/** Number of the system call, which the C library has no function for: x64 has a table of its own. */
const userfaultfdNumber = process.arch === "x64" ? 323n : 282n

/**
 * `struct sigaction` of glibc and musl on 64-bit architectures: handler, mask of 128 bytes, flags, restorer; and the flag
 * `SA_RESETHAND` in the highest byte of the flags.
 */
const signalActionBytes = 152
const signalFlagsAt = 136
const resetHandler = 0x80

const mapFailed = 0xffff_ffff_ffff_ffffn

const definitions = {
  mmap: { arguments: ["uint64", "uint64", "int32", "int32", "int32", "int64"], return: "uint64" },
  munmap: { arguments: ["uint64", "uint64"], return: "int32" },
  madvise: { arguments: ["uint64", "uint64", "int32"], return: "int32" },
  memfd_create: { arguments: ["string", "uint32"], return: "int32" },
  ftruncate: { arguments: ["int32", "int64"], return: "int32" },
  pwrite: { arguments: ["int32", "uint64", "uint64", "int64"], return: "int64" },
  pread: { arguments: ["int32", "uint64", "uint64", "int64"], return: "int64" },
  posix_fadvise: { arguments: ["int32", "int64", "int64", "int32"], return: "int32" },
  close: { arguments: ["int32"], return: "int32" },
  syscall: { arguments: ["int64", "int64"], return: "int64" },
  ioctl: { arguments: ["int32", "uint64", "uint64"], return: "int32" },
  sched_setaffinity: { arguments: ["int32", "uint64", "pointer"], return: "int32" },
  sched_getaffinity: { arguments: ["int32", "uint64", "pointer"], return: "int32" },
  sched_getcpu: { arguments: [], return: "int32" },
  sigaction: { arguments: ["int32", "pointer", "pointer"], return: "int32" },
  gettid: { arguments: [], return: "int32" },
  __errno_location: { arguments: [], return: "pointer" }
} as const

/**
 * Runs `load` with the one warning held back that says `node:ffi` is experimental. Every other warning passes.
 *
 * @category probes
 * @since 0.1.0
 */
export const withoutFfiWarning = <A>(load: () => A): A => {
  const emitWarning = process.emitWarning
  const filtered = function(this: unknown, warning: unknown, ...rest: Array<unknown>): void {
    if (rest[0] === "ExperimentalWarning" && /^FFI\b/.test(String(warning))) return
    Reflect.apply(emitWarning, this, [warning, ...rest])
  }
  process.emitWarning = filtered as typeof process.emitWarning
  try {
    return load()
  } finally {
    // Somebody else may have replaced it meanwhile; theirs stays.
    if (process.emitWarning === filtered) process.emitWarning = emitWarning
  }
}

/** The functions, each bound when it is first needed: most processes call few of them, and binding one takes 40 µs. */
const functionsOf = (ffi: typeof Ffi): Ffi.WrappedFunctionsFromDefinitions<typeof definitions> => {
  // Binding may overwrite the error number, so what reads it is bound before anything can fail.
  const { __errno_location, gettid } = definitions
  const { functions, lib } = ffi.dlopen(null, { __errno_location, gettid })
  const all = { ...functions }
  for (const name of Object.keys(definitions) as ReadonlyArray<keyof typeof definitions>) {
    if (Object.hasOwn(all, name)) continue
    Object.defineProperty(all, name, {
      configurable: true,
      get: () => {
        const value = lib.getFunction(name, definitions[name])
        Object.defineProperty(all, name, { value })
        return value
      }
    })
  }
  return all as Ffi.WrappedFunctionsFromDefinitions<typeof definitions>
}

const bind = (ffi: typeof Ffi): NativeCalls => {
  const functions = functionsOf(ffi)
  const mask = new Uint8Array(cpuMaskBytes)
  const maskBytes = BigInt(cpuMaskBytes)
  return {
    address: (buffer) => ffi.getRawPointer(buffer as ArrayBuffer),
    mmap: (address, bytes, protection, flags, fd, offset) => {
      const mapped = functions.mmap(address, BigInt(bytes), protection, flags, fd, BigInt(offset))
      return mapped === mapFailed ? undefined : mapped
    },
    munmap: (address, bytes) => functions.munmap(address, BigInt(bytes)),
    madvise: (address, bytes, advice) => functions.madvise(address, BigInt(bytes), advice),
    memfdCreate: (name, flags) => functions.memfd_create(name, flags),
    ftruncate: (fd, bytes) => functions.ftruncate(fd, BigInt(bytes)),
    pwrite: (fd, address, bytes, offset) => Number(functions.pwrite(fd, address, BigInt(bytes), BigInt(offset))),
    pread: (fd, address, bytes, offset) => Number(functions.pread(fd, address, BigInt(bytes), BigInt(offset))),
    fadvise: (fd, offset, bytes, advice) => functions.posix_fadvise(fd, BigInt(offset), BigInt(bytes), advice),
    close: (fd) => functions.close(fd),
    userfaultfd: (flags) => Number(functions.syscall(userfaultfdNumber, BigInt(flags))),
    ioctl: (fd, request, argument) => functions.ioctl(fd, request, argument),
    setAffinity: (thread, cpus) => {
      mask.fill(0)
      for (const cpu of cpus) mask[cpu >> 3] |= 1 << (cpu & 7)
      return functions.sched_setaffinity(thread, maskBytes, mask) === 0
    },
    getAffinity: (thread) => {
      mask.fill(0)
      if (functions.sched_getaffinity(thread, maskBytes, mask) < 0) return undefined
      const cpus: Array<number> = []
      for (let cpu = 0; cpu < cpuMaskBytes * 8; cpu++) if ((mask[cpu >> 3] & 1 << (cpu & 7)) !== 0) cpus.push(cpu)
      return cpus
    },
    currentCpu: () => functions.sched_getcpu(),
    threadId: () => functions.gettid(),
    endOnSecond: (signal) => {
      const action = new Uint8Array(signalActionBytes)
      if (functions.sigaction(signal, null, action) !== 0) return false
      new DataView(action.buffer).setUint8(signalFlagsAt + 3, action[signalFlagsAt + 3] | resetHandler)
      return functions.sigaction(signal, action, null) === 0
    },
    errno: () => ffi.getInt32(functions.__errno_location())
  }
}

const load = (): NativeCalls | string => {
  if (process.platform !== "linux") return `the calls are those of Linux, this is ${process.platform}`
  if (!supportedArchitectures.includes(process.arch)) return `no constants for ${process.arch}`
  if (typeof process.getBuiltinModule !== "function") return `Node.js ${process.version} has no node:ffi (26 has)`
  try {
    return withoutFfiWarning(() => {
      const ffi = process.getBuiltinModule("node:ffi") as typeof Ffi | undefined
      if (ffi === undefined) {
        return Number.parseInt(process.versions.node, 10) >= 26
          ? "node:ffi is switched off (--no-experimental-ffi)"
          : `Node.js ${process.version} has no node:ffi (26 has)`
      }
      const calls = bind(ffi)
      // A first call tells whether the permission model lets them through.
      calls.threadId()
      return calls
    })
  } catch (error) {
    return `node:ffi refuses: ${error instanceof Error ? error.message : String(error)}`
  }
}

let probed: NativeCalls | string | undefined

/**
 * The operating-system calls, or the reason why this process or thread has none. Probed once a thread.
 *
 * @category probes
 * @since 0.1.0
 */
export const probeNative = (): NativeCalls | string => probed ??= load()
