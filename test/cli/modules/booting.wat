;; A boot that takes the host's number into a hidden global and into memory.
(module
  (import "host" "number" (func $number (result i32)))
  (memory (export "memory") 2)
  (global $seed (mut i32) (i32.const 0))
  (data (i32.const 1024) "own data")
  (func (export "boot")
    (global.set $seed (call $number))
    (i32.store (i32.const 70000) (global.get $seed))
    (i32.store (i32.const 70004) (i32.const 0x65737361))
    (i32.store (i32.const 70008) (i32.const 0x6f6c2d74)))
  (func (export "seed") (result i32) (global.get $seed)))
