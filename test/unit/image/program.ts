/**
 * A module with every kind of state that an image holds, and what of it can be seen from outside.
 */
import { decodeModule, type WasmModule } from "../../../src/binary/module.ts"
import { capture, type CaptureOptions } from "../../../src/image/capture.ts"
import { instrument } from "../../../src/image/instrument.ts"
import { assemble } from "../../support/wat.ts"

/** Hidden globals of every type, a table, two memories, passive segments, and a start function that counts. */
export const everything = await assemble(`(module
  (type $number (func (result i32)))
  (import "host" "now" (func $now (result f64)))
  (memory $main (export "memory") 2 10)
  (memory $other 1 2)
  (table $table 6 12 funcref)
  (elem (i32.const 0) func $ten $twenty)
  (elem $passive func $thirty $ten)
  (elem declare func $thirty)
  (global $count (mut i32) (i32.const 0))
  (global $single (mut f32) (f32.const 0))
  (global $double (mut f64) (f64.const 0))
  (global $vector (mut v128) (v128.const i32x4 0 0 0 0))
  (global $long (mut i64) (i64.const 7))
  (global $fixed i32 (i32.const 5))
  (data (i32.const 1024) "initial")
  (data (memory $main) (i32.const 65600) "to become zero")
  (data $segment "passive!")
  (data $kept "kept")
  (func $ten (result i32) (i32.const 10))
  (func $twenty (result i32) (i32.const 20))
  (func $thirty (result i32) (i32.const 30))
  (func $start
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (i32.const 1))))
  (start $start)
  (func (export "boot")
    (memory.init $segment (i32.const 100) (i32.const 0) (i32.const 8))
    (data.drop $segment)
    (elem.drop $passive)
    (memory.fill (i32.const 65600) (i32.const 0) (i32.const 14))
    (i32.store (i32.const 8) (i32.trunc_f64_u (call $now)))
    (table.set $table (i32.const 0) (ref.func $thirty))
    (table.set $table (i32.const 1) (ref.null func))
    (table.set $table (i32.const 4) (ref.func $twenty))
    (drop (memory.grow (i32.const 2)))
    (i32.store (i32.const 200000) (i32.const 77))
    (i32.store $other (i32.const 12) (i32.const 123))
    (global.set $single (f32.reinterpret_i32 (i32.const 0x7fa00001)))
    (global.set $double (f64.reinterpret_i64 (i64.const 0x7ff4000000001234)))
    (global.set $vector (v128.const i32x4 1 2 3 4))
    (global.set $long (i64.const -5))
    (global.set $count (i32.add (global.get $count) (i32.const 41))))
  (func (export "count") (result i32) (global.get $count))
  (func (export "single") (result i32) (i32.reinterpret_f32 (global.get $single)))
  (func (export "double") (result i64) (i64.reinterpret_f64 (global.get $double)))
  (func (export "vector") (result i32) (i32x4.extract_lane 2 (global.get $vector)))
  (func (export "long") (result i64) (global.get $long))
  (func (export "slot") (param i32) (result i32)
    (if (result i32) (ref.is_null (table.get $table (local.get 0)))
      (then (i32.const -1))
      (else (call_indirect $table (type $number) (local.get 0)))))
  (func (export "word") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "otherWord") (param i32) (result i32) (i32.load $other (local.get 0)))
  (func (export "pages") (result i32) (memory.size))
  (func (export "copyDropped") (memory.init $segment (i32.const 0) (i32.const 0) (i32.const 1)))
  (func (export "copyDroppedElement") (table.init $table $passive (i32.const 5) (i32.const 0) (i32.const 1)))
  (func (export "copyKept") (memory.init $kept (i32.const 300) (i32.const 0) (i32.const 4)))
)`)

export const decoded: WasmModule = decodeModule(everything)

/** The time that the host tells. */
export const host = (now = 1234): WebAssembly.Imports => ({ host: { now: () => now } })

/** An instance of any bytes, as its exports. */
export const instantiate = (bytes: Uint8Array<ArrayBuffer>, imports: WebAssembly.Imports = {}): Exports =>
  new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports as Exports

export type Exports = WebAssembly.Exports & Record<string, (...args: ReadonlyArray<unknown>) => unknown>

const trapsOf = (call: () => unknown): string => {
  try {
    call()
    return "returns"
  } catch (error) {
    return (error as Error).message
  }
}

/** All that a caller can observe. */
export const observe = (exports: Exports): Record<string, unknown> => ({
  count: exports.count(),
  single: exports.single(),
  double: exports.double(),
  vector: exports.vector(),
  long: exports.long(),
  slots: [0, 1, 2, 3, 4, 5].map((slot) => exports.slot(slot)),
  words: [8, 16, 100, 104, 1024, 65600, 200000].map((at) => exports.word(at)),
  other: exports.otherWord(12),
  pages: exports.pages(),
  dropped: trapsOf(() => exports.copyDropped()),
  droppedElement: trapsOf(() => exports.copyDroppedElement()),
  kept: trapsOf(() => exports.copyKept())
})

export const options: CaptureOptions = { module: "a".repeat(64), fingerprint: "test 1" }

/** A booted instance with its state within reach, and its image. */
export const booted = () => {
  const exports = instantiate(instrument(decoded), host())
  exports.boot()
  return { exports, image: capture(decoded, exports, options) }
}

/** The bytes of a module's memory. */
export const bytesOf = (exports: Exports): Buffer =>
  Buffer.from((exports["memory"] as unknown as WebAssembly.Memory).buffer)
