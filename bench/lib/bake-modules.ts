/**
 * The modules of the bench of images, from text.
 */
import wabt from "wabt"

const features: object = { mutable_globals: true, bulk_memory: true, reference_types: true, sat_float_to_int: true }

const assemble = async (text: string): Promise<Uint8Array<ArrayBuffer>> => {
  const module = (await wabt()).parseWat("bench.wat", text, features)
  try {
    return new Uint8Array(module.toBinary({}).buffer)
  } finally {
    module.destroy()
  }
}

/** Bytes of state that the large module's boot leaves: 50 MB, none of it alike. */
export const STATE_BYTES = 50_003_968

/** A boot that fills 50 MB by a generator (xorshift, 32 bits). */
export const large = (): Promise<Uint8Array<ArrayBuffer>> =>
  assemble(`(module (memory (export "memory") 1024)
    (global $ready (mut i32) (i32.const 0))
    (func (export "boot") (local $at i32) (local $x i32)
      (local.set $x (i32.const 7))
      (loop $next
        (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 13))))
        (local.set $x (i32.xor (local.get $x) (i32.shr_u (local.get $x) (i32.const 17))))
        (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 5))))
        (i32.store (local.get $at) (local.get $x))
        (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (i32.const ${STATE_BYTES}))))
      (global.set $ready (i32.const 1))))`)

/** A boot that tables the sieve of Eratosthenes and square roots: 12 MB, in part zeros. */
export const sieve = (): Promise<Uint8Array<ArrayBuffer>> =>
  assemble(`(module (memory (export "memory") 200)
    (global $count (mut i32) (i32.const 0))
    (func (export "init") (local $i i32) (local $j i32)
      (local.set $i (i32.const 2))
      (loop $outer
        (if (i32.eqz (i32.load8_u (local.get $i))) (then
          (global.set $count (i32.add (global.get $count) (i32.const 1)))
          (if (i32.lt_u (local.get $i) (i32.const 1732)) (then
            (local.set $j (i32.mul (local.get $i) (local.get $i)))
            (loop $inner
              (i32.store8 (local.get $j) (i32.const 1))
              (br_if $inner (i32.lt_u (local.tee $j (i32.add (local.get $j) (local.get $i))) (i32.const 3000000))))))))
        (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3000000))))
      (local.set $i (i32.const 0))
      (loop $roots
        (f64.store (i32.add (i32.const 3080192) (i32.shl (local.get $i) (i32.const 3)))
          (f64.sqrt (f64.convert_i32_u (local.get $i))))
        (br_if $roots (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000000)))))
    (func (export "prime") (param i32) (result i32) (i32.eqz (i32.load8_u (local.get 0))))
    (func (export "count") (result i32) (global.get $count)))`)

/** Constructs that a snapshot may be refused for, each with a boot that uses it. */
export const constructs = async (): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> => {
  const texts: Record<string, string> = {
    "nothing special": `(memory 1) (func (export "init") (i32.store (i32.const 8) (i32.const 1)))`,
    "imported memory": `(import "env" "memory" (memory 1))
      (func (export "init") (i32.store (i32.const 8) (i32.const 1)))`,
    "imported function": `(import "env" "now" (func $now (result i32))) (memory 1)
      (func (export "init") (i32.store (i32.const 8) (call $now)))`,
    "data.drop": `(memory 1) (data $p "passive")
      (func (export "init") (memory.init $p (i32.const 0) (i32.const 0) (i32.const 7)) (data.drop $p))`,
    "start section": `(memory 1) (func $s (i32.store (i32.const 4) (i32.const 1))) (start $s)
      (func (export "init") (i32.store (i32.const 8) (i32.const 1)))`,
    "changed table": `(memory 1) (table $t 4 funcref) (elem (i32.const 0) func $a $b) (func $a) (func $b)
      (func (export "init") (table.set $t (i32.const 0) (ref.func $b)) (table.set $t (i32.const 1) (ref.null func)))`,
    "grown memory": `(memory 1) (func (export "init") (drop (memory.grow (i32.const 3)))
      (i32.store (i32.const 200000) (i32.const 1)))`
  }
  return new Map(
    await Promise.all(
      Object.entries(texts).map(async ([name, text]) => [name, await assemble(`(module ${text})`)] as const)
    )
  )
}
