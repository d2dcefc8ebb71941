/**
 * Modules that the drop-in is observed with, as WebAssembly text.
 */

/** A loop that can run apart, over a memory of the module's own. */
export const loops = `(module
  (memory (export "memory") 2 16)
  (func (export "fill") (param $at i32) (param $count i32) (param $value i32) (local $i i32)
    (block $end
      (br_if $end (i32.le_s (local.get $count) (i32.const 0)))
      (loop $next
        (i32.store (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))
          (i32.mul (i32.add (local.get $value) (local.get $i)) (i32.const 2654435761)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.lt_s (local.get $i) (local.get $count))))))
  (func (export "scale") (param $at i32) (param $count i32) (local $i i32)
    (block $end
      (br_if $end (i32.le_s (local.get $count) (i32.const 0)))
      (loop $next
        (i32.store (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))
          (i32.xor (i32.const 0x5bd1e995)
            (i32.mul (i32.const 3)
              (i32.load (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.lt_s (local.get $i) (local.get $count))))))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "first") (result i32) (i32.load (i32.const 0))))`

/** The same over a memory that is imported, with imports of every kind and a start function. */
export const imports = `(module
  (import "env" "log" (func $log (param i32)))
  (import "env" "memory" (memory 1))
  (import "env" "table" (table 1 funcref))
  (import "other" "constant" (global $constant i32))
  (import "other" "variable" (global $variable (mut i32)))
  (import "env" "again" (func $again (result i32)))
  (global (export "answer") i32 (i32.const 42))
  (global (export "counter") (mut i64) (i64.const 7))
  (export "log" (func $log))
  (export "memory" (memory 0))
  (export "table" (table 0))
  (export "variable" (global $variable))
  (elem (i32.const 0) $fill)
  (func $fill (export "fill") (param $at i32) (param $count i32) (local $i i32)
    (block $end
      (br_if $end (i32.le_s (local.get $count) (i32.const 0)))
      (loop $next
        (i32.store (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))) (local.get $i))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.lt_s (local.get $i) (local.get $count))))))
  (func $start
    (call $log (i32.add (global.get $constant) (global.get $variable)))
    (global.set $variable (call $again)))
  (start $start)
  (data (i32.const 16) "folio"))`

/** Export names whose order and nature an ordinary object would change. */
export const names = `(module
  (memory (export "10") 1)
  (global (export "b") i32 (i32.const 1))
  (func (export "2") (result i32) (i32.const 2))
  (func (export "1") (result i32) (i32.const 1))
  (func (export "__proto__") (result i32) (i32.const 3))
  (func (export "constructor") (result i32) (i32.const 4))
  (func (export "") (result i32) (i32.const 5))
  (func (export "a") (result i32) (i32.const 6)))`

/** A trap in the start function, after an effect. */
export const startTrap = `(module
  (import "env" "log" (func $log (param i32)))
  (memory (export "memory") 1)
  (func $start (call $log (i32.const 1)) (unreachable))
  (start $start))`

/** A data segment that does not fit. */
export const segment = `(module (memory (export "memory") 1) (data (i32.const 65535) "ab"))`

/** Traps and exceptions out of ordinary calls. */
export const traps = `(module
  (import "env" "throw" (func $throw))
  (memory (export "memory") 1)
  (func (export "unreachable") unreachable)
  (func (export "divide") (result i32) (i32.div_s (i32.const 1) (i32.const 0)))
  (func (export "load") (result i32) (i32.load (i32.const 65534)))
  (func (export "throw") (call $throw))
  (func $deep (export "deep") (call $deep)))`

/** Functions that the engine itself provides, and a string constant. */
export const builtins = `(module
  (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
  (import "strings" "hello" (global $hello externref))
  (memory (export "memory") 1)
  (func (export "measure") (result i32) (call $length (global.get $hello))))`

/** A host call that suspends. */
export const suspending = `(module
  (import "env" "wait" (func $wait (result i32)))
  (memory (export "memory") 1)
  (func (export "run") (result i32) (i32.add (call $wait) (i32.const 1))))`

/** All of them by name. */
export const modules: Readonly<Record<string, string>> = {
  loops,
  imports,
  names,
  startTrap,
  segment,
  traps,
  builtins,
  suspending
}
