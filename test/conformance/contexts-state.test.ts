/**
 * Everything of an instance that can change, one at a time, on every rung.
 */
import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { resetInstance, resetModule } from "../../layers/node/reset-instance.ts"
import { kernelTrackingRefusal } from "../../layers/node/reset-kernel.ts"
import type { Checkpoint, ResetRung } from "../../src/reset/checkpoint.ts"
import { assemble } from "../support/wat.ts"

const rungs: ReadonlyArray<ResetRung> = [
  "whole",
  "checkpoint",
  "tracked-map",
  ...(kernelTrackingRefusal() === undefined ? ["tracked-kernel" as const] : [])
]

type Call = (...args: ReadonlyArray<unknown>) => unknown

interface Opened {
  readonly call: Readonly<Record<string, Call>>
  readonly exports: WebAssembly.Exports
  readonly checkpoint: Checkpoint
}

const host = (rung: ResetRung) => ({
  policy: rung === "whole" || rung === "checkpoint" ? rung : "tracked",
  host: { kernel: rung === "tracked-map" ? "not asked" : undefined, severalMemories: true }
} as const)

const open = async (rung: ResetRung, text: string, imports: WebAssembly.Imports = {}): Promise<Opened> => {
  const module = resetModule(await assemble(text), host(rung))
  assert.strictEqual(module.choice.rung, rung)
  const { checkpoint, exports } = resetInstance(module, imports)
  return { exports, call: exports as unknown as Record<string, Call>, checkpoint: checkpoint() }
}

const bytesOf = (exports: WebAssembly.Exports, name = "memory"): Buffer =>
  Buffer.from(new Uint8Array((exports[name] as WebAssembly.Memory).buffer))

/** Stores of every kind, each called with an address. */
const stores = `(module (memory (export "memory") 4)
  (data (i32.const 0) "the bytes at the beginning")
  ${
  [
    ["i32.store", "(i32.const -2)"],
    ["i32.store8", "(i32.const -2)"],
    ["i32.store16", "(i32.const -2)"],
    ["i64.store", "(i64.const -2)"],
    ["i64.store8", "(i64.const -2)"],
    ["i64.store16", "(i64.const -2)"],
    ["i64.store32", "(i64.const -2)"],
    ["f32.store", "(f32.const 1.5)"],
    ["f64.store", "(f64.const 1.5)"],
    ["v128.store", "(v128.const i32x4 -1 2 -3 4)"]
  ].map(([name, value]) => `(func (export "${name}") (param i32) (${name} offset=3 (local.get 0) ${value}))`).join("\n")
}
  ${
  [8, 16, 32, 64].map((bits) =>
    `(func (export "lane${bits}") (param i32)
      (v128.store${bits}_lane offset=3 0 (local.get 0) (v128.const i32x4 -1 -1 -1 -1)))`
  ).join("\n")
}
  ${
  ["i32", "i64"].flatMap((type) => [
    `(func (export "${type}.add") (param i32) (drop (${type}.atomic.rmw.add (local.get 0) (${type}.const 77))))`,
    `(func (export "${type}.xchg") (param i32) (drop (${type}.atomic.rmw16.xchg_u (local.get 0) (${type}.const 9))))`,
    `(func (export "${type}.cmpxchg") (param i32)
      (drop (${type}.atomic.rmw.cmpxchg (local.get 0) (${type}.const 0) (${type}.const 5))))`,
    `(func (export "${type}.atomic") (param i32) (${type}.atomic.store offset=8 (local.get 0) (${type}.const 5)))`
  ]).join("\n")
}
  (data $passive "0123456789abcdef")
  (func (export "fill") (param i32 i32) (memory.fill (local.get 0) (i32.const 9) (local.get 1)))
  (func (export "copy") (param i32 i32) (memory.copy (local.get 0) (i32.const 0) (local.get 1)))
  (func (export "init") (param i32 i32) (memory.init $passive (local.get 0) (i32.const 0) (local.get 1))))`

describe.each(rungs)("%s", (rung) => {
  it("puts back what every kind of store wrote, over the edge of a page too", async () => {
    const { call, checkpoint, exports } = await open(rung, stores)
    const start = bytesOf(exports)
    for (const [name, store] of Object.entries(call).filter(([, value]) => typeof value === "function")) {
      const isBulk = ["fill", "copy", "init"].includes(name)
      const isAtomic = /^i(?:32|64)\.(?:add|xchg|cmpxchg|atomic)$/.test(name)
      // The last one reaches the memory's last byte.
      const addresses = isBulk || isAtomic ? [4_096 - 8, 8 * 4_096 - 8] : [0, 4_090, 4_092, 8_191 - 3, 12_288]
      for (const at of addresses) {
        if (isBulk) store(at, 16)
        else store(at)
        assert.notStrictEqual(Buffer.compare(bytesOf(exports), start), 0, `${name} at ${at} writes`)
        assert.isUndefined(checkpoint.reset())
        assert.strictEqual(Buffer.compare(bytesOf(exports), start), 0, `${name} at ${at} is put back`)
      }
    }
    checkpoint.release()
  })

  it("puts back long bulk operations, empty ones and ones that trap", async () => {
    const { call, checkpoint, exports } = await open(rung, stores)
    const start = bytesOf(exports)
    call["fill"](4_095, 100_000)
    call["copy"](150_001, 50_000)
    call["fill"](262_144, 0)
    call["init"](9_000, 16)
    assert.throws(() => call["fill"](262_000, 1_000), /out of bounds/)
    assert.throws(() => call["i64.store"](262_140), /out of bounds/)
    assert.isUndefined(checkpoint.reset())
    assert.strictEqual(Buffer.compare(bytesOf(exports), start), 0)
    assert.isAtLeast(checkpoint.copiedBytes, 150_000)
    call["fill"](262_143, 1)
    call["v128.store"](262_144 - 19)
    assert.isUndefined(checkpoint.reset())
    assert.strictEqual(Buffer.compare(bytesOf(exports), start), 0)
    checkpoint.release()
  })

  it("puts back what the host wrote", async () => {
    const { checkpoint, exports } = await open(rung, stores)
    const memory = exports["memory"] as WebAssembly.Memory
    const start = bytesOf(exports)
    const path = join(tmpdir(), `folio-reset-${process.pid}`)
    Fs.writeFileSync(path, Buffer.alloc(10_000, 7))
    const file = Fs.openSync(path, "r")
    try {
      for (let round = 0; round < 3; round++) {
        new DataView(memory.buffer).setFloat64(4_092 + round * 8_192, 1.5)
        Fs.readSync(file, new Uint8Array(memory.buffer), 123_456, 10_000, 0)
        await new Promise<void>((resolve, reject) => {
          Fs.read(file, new Uint8Array(memory.buffer), 223_456, 10_000, 0, (error) => error ? reject(error) : resolve())
        })
        if (rung === "tracked-map") {
          for (const [at, bytes] of [[4_092 + round * 8_192, 8], [123_456, 10_000], [223_456, 10_000]] as const) {
            checkpoint.touch(at, bytes)
          }
        }
        assert.isUndefined(checkpoint.reset())
        assert.strictEqual(Buffer.compare(bytesOf(exports), start), 0, `round ${round}`)
      }
    } finally {
      Fs.closeSync(file)
      Fs.rmSync(path)
      checkpoint.release()
    }
  })

  it("puts back hidden globals by their bits", async () => {
    const { call, checkpoint } = await open(
      rung,
      `(module
        (global $i (mut i32) (i32.const 7)) (global $l (mut i64) (i64.const -9007199254740993))
        (global $f (mut f32) (f32.const nan:0x200001)) (global $d (mut f64) (f64.const nan:0x4000000000001))
        (global $v (mut v128) (v128.const i32x4 1 2 3 4)) (global $e (mut externref) (ref.null extern))
        (func (export "set") (param externref)
          (global.set $i (i32.const 1)) (global.set $l (i64.const 1)) (global.set $f (f32.const 1))
          (global.set $d (f64.const 1)) (global.set $v (v128.const i32x4 9 9 9 9)) (global.set $e (local.get 0)))
        (func (export "i") (result i32) (global.get $i)) (func (export "l") (result i64) (global.get $l))
        (func (export "f") (result i32) (i32.reinterpret_f32 (global.get $f)))
        (func (export "d") (result i64) (i64.reinterpret_f64 (global.get $d)))
        (func (export "v") (result i32) (i32x4.extract_lane 2 (global.get $v)))
        (func (export "e") (result i32) (ref.is_null (global.get $e))))`
    )
    const read = () => ["i", "l", "f", "d", "v", "e"].map((name) => call[name]())
    const start = read()
    assert.deepStrictEqual(start, [7, -9007199254740993n, 0x7fa00001, 0x7ff4000000000001n, 3, 1])
    for (let round = 0; round < 2; round++) {
      call["set"]({})
      assert.notDeepEqual(read(), start)
      assert.isUndefined(checkpoint.reset())
      assert.deepStrictEqual(read(), start)
    }
  })

  it("puts back table slots, the host's changes too", async () => {
    const { call, checkpoint, exports } = await open(
      rung,
      `(module (type $get (func (result i32))) (table $own 3 funcref) (table (export "table") 4 funcref)
        (table $objects 2 externref)
        (elem declare func $two)
        (func $one (result i32) (i32.const 1)) (func $two (export "two") (result i32) (i32.const 2))
        (elem (table $own) (i32.const 0) func $one $two $one)
        (elem (table 1) (i32.const 1) func $one)
        (func (export "swap") (param externref)
          (table.set $own (i32.const 0) (ref.func $two)) (table.set $own (i32.const 1) (ref.null func))
          (table.set $objects (i32.const 1) (local.get 0)))
        (func (export "call") (param i32) (result i32) (call_indirect $own (type $get) (local.get 0)))
        (func (export "object") (result i32) (ref.is_null (table.get $objects (i32.const 1)))))`
    )
    const table = exports["table"] as WebAssembly.Table
    const read = () => [0, 1, 2].map((slot) => call["call"](slot))
    call["swap"]({})
    table.set(1, exports["two"])
    table.set(3, exports["two"])
    assert.throws(read)
    assert.strictEqual(call["object"](), 0)
    assert.isUndefined(checkpoint.reset())
    assert.deepStrictEqual(read(), [1, 2, 1])
    assert.strictEqual((table.get(1) as Call)(), 1)
    assert.isNull(table.get(3))
    assert.strictEqual(call["object"](), 1)
  })

  it("retires an instance with a grown memory, a grown table or a dropped segment, and says which", async () => {
    const text = `(module (memory (export "memory") 1 4) (table (export "table") 1 funcref) (data $d "abc")
      (func (export "grow") (drop (memory.grow (i32.const 1))))
      (func (export "drop") (data.drop $d)))`
    const grown = await open(rung, text)
    grown.call["grow"]()
    assert.strictEqual(grown.checkpoint.reset(), "memory 0 has grown from 65536 to 131072 bytes")
    const wider = await open(rung, text)
    ;(wider.exports["table"] as WebAssembly.Table).grow(2)
    assert.strictEqual(wider.checkpoint.reset(), "a table has grown from 1 to 3 slots")
    const dropped = await open(rung, text)
    assert.isUndefined(dropped.checkpoint.reset())
    dropped.call["drop"]()
    assert.strictEqual(dropped.checkpoint.reset(), "a segment was dropped")
    for (const { checkpoint } of [grown, wider, dropped]) checkpoint.release()
    assert.isString(dropped.checkpoint.reset())
  })

  it("puts an imported memory, a second memory and no memory at all back", async () => {
    const memory = new WebAssembly.Memory({ initial: 1 })
    const { call, checkpoint, exports } = await open(
      rung,
      `(module (import "env" "memory" (memory $given 1)) (memory $own (export "own") 1)
        (func (export "write") (param i32)
          (i32.store $given (local.get 0) (i32.const 5)) (i64.store $own (local.get 0) (i64.const 6))
          (memory.copy $own $given (i32.const 40000) (local.get 0) (i32.const 4))))`,
      { env: { memory } }
    )
    call["write"](8_190)
    assert.isUndefined(checkpoint.reset())
    assert.isTrue(new Uint8Array(memory.buffer).every((byte) => byte === 0))
    assert.isTrue(bytesOf(exports, "own").every((byte) => byte === 0))
    checkpoint.release()
    const none = await open(
      rung,
      `(module (global $n (mut i32) (i32.const 0))
      (func (export "next") (result i32) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.get $n)))`
    )
    assert.deepStrictEqual([none.call["next"](), none.call["next"]()], [1, 2])
    assert.isUndefined(none.checkpoint.reset())
    assert.strictEqual(none.call["next"](), 1)
  })

  it("stays right over many resets with pages that change", async () => {
    const { call, checkpoint, exports } = await open(rung, stores)
    const start = bytesOf(exports)
    for (let round = 0; round < 200; round++) {
      for (let write = 0; write < round % 7; write++) call["i64.store"]((round * 7_919 + write * 4_099) % 262_000)
      assert.isUndefined(checkpoint.reset())
      if (round % 11 === 0) assert.strictEqual(Buffer.compare(bytesOf(exports), start), 0, `round ${round}`)
    }
    assert.strictEqual(Buffer.compare(bytesOf(exports), start), 0)
    checkpoint.release()
  })
})
