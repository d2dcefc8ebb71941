;; A reactor that reads its environment once.
(module
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $initialised (mut i32) (i32.const 0))
  (func (export "_initialize")
    (drop (call $sizes (i32.const 0) (i32.const 4)))
    (drop (call $environ (i32.const 1024) (i32.const 2048)))
    (global.set $initialised (i32.add (global.get $initialised) (i32.const 1))))
  (func (export "initialised") (result i32) (global.get $initialised)))
