/**
 * The modules of the benches of images, from text.
 */
import wabt from "wabt"

const features: object = {
  bulk_memory: true,
  exceptions: true,
  memory64: true,
  multi_memory: true,
  mutable_globals: true,
  reference_types: true,
  sat_float_to_int: true,
  simd: true,
  tail_call: true,
  threads: true
}

/** A module from its text. */
export const assemble = async (text: string): Promise<Uint8Array<ArrayBuffer>> => {
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
