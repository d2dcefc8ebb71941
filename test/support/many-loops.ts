/**
 * A module of many functions with a planned loop each: some tens of milliseconds of analysis for a thousand of them.
 */

/** Text of the module; function `f<k>` stores `i * k` to `count` words from `at` on. */
export const manyLoops = (functions: number): string =>
  `(module
  (memory (export "memory") 1)
  ${
    Array.from({ length: functions }, (_, index) => `
  (func (export "f${index}") (param $at i32) (param $count i32) (local $i i32)
    (block $end
      (br_if $end (i32.le_s (local.get $count) (i32.const 0)))
      (loop $next
        (i32.store (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))
          (i32.mul (local.get $i) (i32.const ${index})))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.lt_s (local.get $i) (local.get $count))))))`).join("")
  }
)`
