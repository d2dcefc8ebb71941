;; What the session suite runs: loops that can run apart, one that may trap, calls out and back in, a global, growth.
(module
  (import "host" "tick" (func $tick (param i32) (result i32)))
  (memory (export "memory") 8 64)
  (global $calls (export "calls") (mut i64) (i64.const 0))
  (global (export "quiet") f32 (f32.const nan:0x200001))
  (table (export "table") 4 funcref)

  ;; words[at + 4 i] = words[at + 4 i] * factor + i
  (func $scale (export "scale") (param $at i32) (param $n i32) (param $factor i32)
    (local $i i32)
    (if (i32.eqz (local.get $n)) (then (return)))
    (loop $next
      (i32.store (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))
        (i32.add
          (i32.mul
            (i32.load (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))
            (local.get $factor))
          (local.get $i)))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))

  ;; to[i] = from[i] / by[i], which traps where by[i] is 0
  (func (export "divide") (param $to i32) (param $from i32) (param $by i32) (param $n i32)
    (local $i i32) (local $byte i32)
    (if (i32.eqz (local.get $n)) (then (return)))
    (loop $next
      (local.set $byte (i32.shl (local.get $i) (i32.const 2)))
      (i32.store (i32.add (local.get $to) (local.get $byte))
        (i32.div_s
          (i32.load (i32.add (local.get $from) (local.get $byte)))
          (i32.load (i32.add (local.get $by) (local.get $byte)))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))

  ;; The sum of n words as 64 bits.
  (func (export "sum") (param $at i32) (param $n i32) (result i64)
    (local $i i32) (local $sum i64)
    (if (i32.eqz (local.get $n)) (then (return (i64.const 0))))
    (loop $next
      (local.set $sum (i64.add (local.get $sum)
        (i64.load32_s (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $sum))

  ;; words[i + 1] += words[i]: no two iterations can change places
  (func (export "prefix") (param $at i32) (param $n i32)
    (local $i i32) (local $word i32)
    (if (i32.eqz (local.get $n)) (then (return)))
    (loop $next
      (local.set $word (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))
      (i32.store offset=4 (local.get $word)
        (i32.add (i32.load (local.get $word)) (i32.load offset=4 (local.get $word))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))

  (func (export "swap") (param i32 i64 f32 f64) (result f64 f32 i64 i32)
    (local.get 3) (local.get 2) (local.get 1) (local.get 0))
  (func (export "half") (param f64) (result f64) (f64.mul (local.get 0) (f64.const 0.5)))

  ;; Counts, calls out, and scales with what comes back.
  (func (export "visit") (param $at i32) (param $n i32) (result i32)
    (local $back i32)
    (global.set $calls (i64.add (global.get $calls) (i64.const 1)))
    (local.set $back (call $tick (local.get $n)))
    (call $scale (local.get $at) (local.get $n) (local.get $back))
    (local.get $back))

  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "fault") (unreachable))
  (func (export "wide") (param v128) (result v128) (i8x16.add (local.get 0) (local.get 0)))
  (func (export "keep") (param externref) (result externref) (local.get 0)))
