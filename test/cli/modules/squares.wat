;; Fills memory with squares, then adds them up.
(module
  (memory (export "memory") 16)
  (global $seen (mut i32) (i32.const 0))

  (func (export "squares") (param $n i32) (result i64)
    (local $i i32) (local $sum i64)
    (global.set $seen (local.get $n))
    (if (i32.eqz (local.get $n)) (then (return (i64.const 0))))
    (loop $fill
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (local.get $i)))
      (br_if $fill (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $add
      (local.set $sum (i64.add (local.get $sum) (i64.load32_u (i32.shl (local.get $i) (i32.const 2)))))
      (br_if $add (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $sum))

  (func (export "quotient") (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1)))
  (func (export "bits") (param i32 i64 f32 f64 v128) (result v128 f64 f32 i64 i32)
    (local.get 4) (local.get 3) (local.get 2) (local.get 1) (local.get 0))
  (func (export "keep") (param externref) (result externref) (local.get 0))

  ;; Each word is made of the one before it.
  (func (export "chain") (param $n i32)
    (local $i i32) (local $last i32)
    (loop $next
      (local.set $last (i32.mul (i32.add (local.get $last) (local.get $i)) (i32.const 31)))
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (local.get $last))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))
