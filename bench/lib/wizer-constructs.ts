/**
 * Constructs that a pre-initialiser may refuse: a module for each, whose `init` uses it and whose `state` tells what is
 * left of it. Imports are those of `imports`.
 */
import { assemble } from "./bake-modules.ts"

const CONSTRUCTS: Readonly<Record<string, string>> = {
  "memory and a hidden global": `(memory 1) (global $g (mut i32) (i32.const 0))
    (func (export "init") (i32.store (i32.const 8) (i32.const 7)) (global.set $g (i32.const 30)))
    (func (export "state") (result i32) (i32.add (i32.load (i32.const 8)) (global.get $g)))`,
  "memory that has grown": `(memory 1)
    (func (export "init") (drop (memory.grow (i32.const 3))) (i32.store (i32.const 200000) (i32.const 1)))
    (func (export "state") (result i32) (i32.add (memory.size) (i32.load (i32.const 200000))))`,
  "two memories": `(memory $a 1) (memory $b 1)
    (func (export "init") (i32.store $a (i32.const 8) (i32.const 3)) (i32.store $b (i32.const 8) (i32.const 4)))
    (func (export "state") (result i32)
      (i32.add (i32.load $a (i32.const 8)) (i32.mul (i32.const 10) (i32.load $b (i32.const 8)))))`,
  "memory of 64-bit addresses": `(memory i64 1)
    (func (export "init") (i32.store (i64.const 8) (i32.const 5)))
    (func (export "state") (result i32) (i32.load (i64.const 8)))`,
  "shared memory": `(memory 1 1 shared)
    (func (export "init") (i32.store (i32.const 8) (i32.const 5)))
    (func (export "state") (result i32) (i32.load (i32.const 8)))`,
  "no memory": `(global $g (mut i32) (i32.const 0)) (func (export "init") (global.set $g (i32.const 7)))
    (func (export "state") (result i32) (global.get $g))`,
  "imported memory": `(import "env" "memory" (memory 1))
    (func (export "init") (i32.store (i32.const 8) (i32.const 6)))
    (func (export "state") (result i32) (i32.load (i32.const 8)))`,
  "imported function, called by init": `(import "env" "now" (func $now (result i32))) (memory 1)
    (func (export "init") (i32.store (i32.const 8) (call $now)))
    (func (export "state") (result i32) (i32.load (i32.const 8)))`,
  "imported constant": `(import "env" "base" (global $base i32)) (memory 1)
    (func (export "init") (i32.store (global.get $base) (i32.const 9)))
    (func (export "state") (result i32) (i32.load (global.get $base)))`,
  "imported table": `(import "env" "table" (table 4 funcref)) (memory 1) (func $f)
    (func (export "init") (i32.store (i32.const 8) (table.size)))
    (func (export "state") (result i32) (i32.load (i32.const 8)))`,
  "start section": `(memory 1)
    (func $s (i32.store (i32.const 4) (i32.add (i32.const 1) (i32.load (i32.const 4))))) (start $s)
    (func (export "init") (i32.store (i32.const 8) (i32.const 10)))
    (func (export "state") (result i32) (i32.add (i32.load (i32.const 4)) (i32.load (i32.const 8))))`,
  "vector in a global": `(memory 1) (global $v (mut v128) (v128.const i32x4 0 0 0 0))
    (func (export "init") (global.set $v (v128.const i32x4 1 2 3 4)))
    (func (export "state") (result i32) (i32x4.extract_lane 3 (global.get $v)))`,
  "NaN with a payload in a global": `(memory 1) (global $f (mut f32) (f32.const 0))
    (func (export "init") (global.set $f (f32.reinterpret_i32 (i32.const 0x7fa00001))))
    (func (export "state") (result i32) (i32.reinterpret_f32 (global.get $f)))`,
  "reference in a global, null": `(memory 1) (global $r (mut externref) (ref.null extern))
    (func (export "init") (i32.store (i32.const 8) (i32.const 3)))
    (func (export "state") (result i32) (i32.add (i32.load (i32.const 8)) (ref.is_null (global.get $r))))`,
  "reference to a function in a global": `(memory 1) (func $f) (elem declare func $f)
    (global $r (mut funcref) (ref.null func))
    (func (export "init") (global.set $r (ref.func $f)))
    (func (export "state") (result i32) (ref.is_null (global.get $r)))`,
  "memory.init": `(memory 1) (data $p "passive")
    (func (export "init") (memory.init $p (i32.const 0) (i32.const 0) (i32.const 7)))
    (func (export "state") (result i32) (i32.load (i32.const 0)))`,
  "data.drop": `(memory 1) (data $p "passive")
    (func (export "init") (memory.init $p (i32.const 0) (i32.const 0) (i32.const 7)) (data.drop $p))
    (func (export "state") (result i32) (i32.load (i32.const 0)))`,
  "elem.drop": `(memory 1) (table $t 2 funcref) (func $f) (elem $e func $f)
    (func (export "init") (elem.drop $e) (i32.store (i32.const 0) (i32.const 2)))
    (func (export "state") (result i32) (i32.load (i32.const 0)))`,
  "table.set": `(memory 1) (table $t 4 funcref) (elem (i32.const 0) func $a $b)
    (func $a (result i32) (i32.const 1)) (func $b (result i32) (i32.const 2))
    (func (export "init") (table.set $t (i32.const 0) (ref.func $b)) (table.set $t (i32.const 1) (ref.null func)))
    (func (export "state") (result i32) (call_indirect (result i32) (i32.const 0)))`,
  "table.copy": `(memory 1) (table $t 4 funcref) (elem (i32.const 0) func $a $b)
    (func $a (result i32) (i32.const 1)) (func $b (result i32) (i32.const 2))
    (func (export "init") (table.copy (i32.const 2) (i32.const 0) (i32.const 2)))
    (func (export "state") (result i32) (call_indirect (result i32) (i32.const 3)))`,
  "table.grow": `(memory 1) (table $t 1 funcref) (func $a (result i32) (i32.const 1)) (elem declare func $a)
    (func (export "init") (drop (table.grow $t (ref.func $a) (i32.const 2))))
    (func (export "state") (result i32) (table.size $t))`,
  return_call: `(memory 1) (func $f (i32.store (i32.const 8) (i32.const 4)))
    (func (export "init") (return_call $f))
    (func (export "state") (result i32) (i32.load (i32.const 8)))`
}

/** What the modules import. */
export const imports = (): WebAssembly.Imports => ({
  env: {
    memory: new WebAssembly.Memory({ initial: 1 }),
    now: () => 12,
    base: 64,
    table: new WebAssembly.Table({ initial: 4, element: "anyfunc" })
  }
})

/** The modules by what is special about them. */
export const constructs = async (): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> =>
  new Map(
    await Promise.all(
      Object.entries(CONSTRUCTS).map(async ([name, text]) => [name, await assemble(`(module ${text})`)] as const)
    )
  )
