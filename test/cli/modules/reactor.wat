;; Wants `_initialize` to be called, and its memory to be given.
(module
  (import "env" "memory" (memory 2 4))
  (global $base (mut i32) (i32.const 0))
  (func (export "_initialize") (global.set $base (i32.const 41)))
  (func (export "next") (result i32)
    (global.set $base (i32.add (global.get $base) (i32.const 1)))
    (global.get $base)))
