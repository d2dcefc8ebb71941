import { spawnSync } from "node:child_process"
import { assert, describe, it } from "vitest"
import { withoutFfiWarning } from "../../../layers/node/ffi.ts"
import { currentThread } from "../../../layers/node/liveness.ts"
import { nativeCalls } from "../../faults/lanes-support.ts"

const module = new URL("../../../layers/node/ffi.ts", import.meta.url).href

/** Runs a program with the probe in `probe`; its standard output and error. */
const program = (text: string, ...options: ReadonlyArray<string>): { stdout: string; stderr: string } => {
  const { stderr, stdout } = spawnSync(process.execPath, [
    ...options,
    "--input-type=module",
    "--eval",
    `import { probeNative } from ${JSON.stringify(module)}\nconst calls = probeNative()\n${text}`
  ], { encoding: "utf8", env: { PATH: process.env.PATH } })
  return { stdout, stderr }
}

describe("the operating-system calls", () => {
  it("answer for the calling thread", () => {
    const calls = nativeCalls()
    assert.strictEqual(calls.threadId(), currentThread())
    const allowed = calls.getAffinity(0)!
    assert.include(allowed, calls.currentCpu())
    assert.isTrue(calls.setAffinity(0, allowed))
    assert.isFalse(calls.setAffinity(0, []))
    assert.strictEqual(calls.errno(), 22)
  })

  it("map, write, read and unmap a file", () => {
    const calls = nativeCalls()
    const fd = calls.memfdCreate("folio-test", 1)
    assert.isAbove(fd, 2)
    assert.strictEqual(calls.ftruncate(fd, 8192), 0)
    const text = Buffer.from("some bytes")
    const source = calls.address(text.buffer) + BigInt(text.byteOffset)
    assert.strictEqual(calls.pwrite(fd, source, text.length, 4096), text.length)
    const address = calls.mmap(0n, 8192, 3, 1, fd, 0)!
    assert.notStrictEqual(address, undefined)
    const back = new Uint8Array(text.length)
    assert.strictEqual(calls.pread(fd, calls.address(back.buffer), back.length, 4096), back.length)
    assert.strictEqual(Buffer.from(back).toString(), "some bytes")
    // Writing from the mapping to its own file, once mapped and once not, tells that it is there.
    assert.strictEqual(calls.pwrite(fd, address, 1, 0), 1)
    assert.strictEqual(calls.madvise(address, 8192, 4), 0)
    assert.strictEqual(calls.munmap(address, 8192), 0)
    assert.strictEqual(calls.pwrite(fd, address, 1, 0), -1)
    assert.strictEqual(calls.errno(), 14)
    assert.strictEqual(calls.close(fd), 0)
    assert.isUndefined(calls.mmap(0n, 8192, 3, 1, fd, 0))
  })

  it("are had without a word, and every other warning is heard", () => {
    const { stderr, stdout } = program(
      `process.emitWarning("mind the step", "ExperimentalWarning"); console.log(typeof calls, calls === probeNative())`
    )
    assert.strictEqual(stdout, "object true\n")
    assert.match(stderr, /ExperimentalWarning: mind the step/)
    assert.notMatch(stderr, /FFI/)
  })

  it("are a reason where they are off", () => {
    const off = program("console.log(calls)", "--no-experimental-ffi")
    assert.deepStrictEqual(off, { stdout: "node:ffi is switched off (--no-experimental-ffi)\n", stderr: "" })
    const forbidden = program("console.log(calls)", "--permission", "--allow-fs-read=*")
    assert.match(forbidden.stdout, /^node:ffi refuses: .*--allow-ffi/)
    assert.strictEqual(forbidden.stderr, "")
  })
})

describe("holding back the warning", () => {
  it("holds back only it, only meanwhile, and respects what others put there", () => {
    const original = process.emitWarning
    const heard: Array<string> = []
    process.emitWarning = ((warning: string) => heard.push(warning)) as typeof process.emitWarning
    const theirs = process.emitWarning
    try {
      withoutFfiWarning(() => {
        process.emitWarning("FFI is an experimental feature", "ExperimentalWarning")
        process.emitWarning("FFI is old", "DeprecationWarning")
        process.emitWarning("WASI is an experimental feature", "ExperimentalWarning")
      })
      assert.strictEqual(process.emitWarning, theirs)
      process.emitWarning("FFI is an experimental feature", "ExperimentalWarning")
      assert.deepStrictEqual(heard, [
        "FFI is old",
        "WASI is an experimental feature",
        "FFI is an experimental feature"
      ])
      const newer = (() => {}) as typeof process.emitWarning
      withoutFfiWarning(() => process.emitWarning = newer)
      assert.strictEqual(process.emitWarning, newer)
      assert.throws(() => withoutFfiWarning(() => assert.fail("on purpose")), "on purpose")
    } finally {
      process.emitWarning = original
    }
  })
})
