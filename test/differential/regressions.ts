/**
 * Small modules that once left something else behind when they ran apart, each with the calls and the memory that
 * showed it. Every module exports `run`.
 */

/** A module and what it is called with. */
export interface Regression {
  readonly name: string
  readonly wat: string
  readonly calls: ReadonlyArray<ReadonlyArray<number>>
  /** Words of memory, little-endian, by byte; zero elsewhere. */
  readonly words?: Readonly<Record<number, number>>
  /** Bytes of memory by place. */
  readonly bytes?: (at: number) => number
  /** Chunks once ran for ever: compared in a process of its own. */
  readonly endless?: true
}

const module = (signature: string, body: string, more = ""): string =>
  `(module (import "host" "note" (func $note (param i32) (result i32))) (memory (export "memory") 1)
     (global $g (export "g") (mut i32) (i32.const 7)) ${more}
     (func (export "run") ${signature} ${body}))`

const next = (count: string): string =>
  `(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get ${count})))`
const word = (base: string): string => `(i32.add (local.get ${base}) (i32.shl (local.get $i) (i32.const 2)))`
const byte = (base: string): string => `(i32.load8_u (i32.add (local.get ${base}) (local.get $i)))`
const around = [30, 31, 32, 33, 34, 35, 36]

export const REGRESSIONS: ReadonlyArray<Regression> = [
  {
    name: "the first iteration behind the chunks stores over the bound and leaves at once",
    wat: module(
      "(param $a i32) (param $bound i32) (result i32) (local $i i32) (local $kept i32)",
      `(loop $l
        (i32.store (local.get $a) (local.get $i))
        (local.set $a (i32.add (local.get $a) (i32.const 4)))
        (if (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.load (local.get $bound)))
          (then (local.set $kept (i32.mul (local.get $i) (i32.const 3))) (br $l))))
      (local.get $kept)`
    ),
    calls: [1040, 1044, 1048, 1052, 1056, 1060, 1064, 1068].map((bound) => [1024, bound]),
    words: Object.fromEntries([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((k) => [1024 + 4 * k, 10]))
  },
  ...[
    ["the host is told", "(drop (call $note (local.get $kept)))"],
    ["a global is set to", "(global.set $g (local.get $kept))"]
  ].map(([what, effect]): Regression => ({
    name: `${what} a value of the iteration before on the way out`,
    wat: module(
      "(param $a i32) (param $n i32) (local $i i32) (local $kept i32)",
      `(block $out (loop $l
        (if ${byte("$a")} (then ${effect} (br $out)))
        (i32.store8 offset=4096 (i32.add (local.get $a) (local.get $i)) (local.get $i))
        (local.set $kept (i32.mul (local.get $i) (i32.const 3)))
        ${next("$n")}))`
    ),
    calls: around.map((n) => [1024, n]),
    bytes: (at) => at === 1024 + 30 ? 1 : 0
  })),
  {
    name: "two large factors of loaded values: the guard's sum overflows",
    wat: module(
      "(param $a i32) (param $n i32) (param $s i32) (local $i i32) (local $p i32)",
      `(loop $l
        (local.set $p (i32.add (local.get $s) (i32.shl (local.get $i) (i32.const 3))))
        (i32.store
          (i32.add ${word("$a")}
            (i32.add
              (i32.mul (i32.const 0x7fffffff) (i32.rem_u (i32.load (local.get $p)) (i32.const 0xffffffff)))
              (i32.mul (i32.const 0x7fffffff) (i32.rem_u (i32.load offset=4 (local.get $p)) (i32.const 0xffffffff)))))
          (local.get $i))
        ${next("$n")})`
    ),
    calls: [[4096, 40, 8192]],
    words: Object.fromEntries(Array.from({ length: 80 }, (_, k) => [8192 + 4 * k, 2 * ((k >> 1) % 5)]))
  },
  {
    name: "the step is a value that the same iteration stored",
    wat: module(
      "(param $a i32) (param $n i32) (result i32) (local $i i32) (local $p i32)",
      `(local.set $p (local.get $a))
      (loop $l
        (i32.store (i32.const 256)
          (i32.add (i32.const 4) (i32.shl (i32.and (local.get $i) (i32.const 1)) (i32.const 3))))
        (i32.store (local.get $p) (local.get $i))
        (local.set $p (i32.add (local.get $p) (i32.load (i32.const 256))))
        ${next("$n")})
      (local.get $p)`
    ),
    calls: [[8192, 40]],
    words: { 256: 4 }
  },
  {
    name: "a table indexed by data beside an array",
    wat: module(
      "(param $a i32) (param $n i32) (local $i i32)",
      `(loop $l
        (i32.store8 offset=256 ${byte("$a")} (local.get $i))
        (i32.store offset=4096 ${word("$a")} (local.get $i))
        ${next("$n")})`
    ),
    calls: [[8192, 400]],
    bytes: (at) => Math.imul(at, 0x9e3779b1) >>> 13 & 255
  },
  {
    name: "a store now and then below a global that is lowered and put back",
    wat: module(
      "(param $a i32) (param $n i32) (result i32) (local $i i32)",
      `(global.set $g (i32.const 2048))
      (loop $l
        (global.set $g (i32.sub (global.get $g) (i32.const 16)))
        (if (i32.and ${byte("$a")} (i32.const 1)) (then (i32.store (global.get $g) (local.get $i))))
        (i32.store offset=4096 ${word("$a")} (local.get $i))
        (global.set $g (i32.add (global.get $g) (i32.const 16)))
        ${next("$n")})
      (i32.load (i32.const 2032))`
    ),
    calls: [[8192, 100]],
    bytes: (at) => at >= 8192 && at < 8260 ? 1 : 0
  },
  {
    name: "callees with frames that some calls leave as they are",
    wat: module(
      "(param $a i32) (param $n i32) (local $i i32)",
      `(loop $l (i32.store offset=4096 ${word("$a")} (call $h0 ${byte("$a")})) ${next("$n")})`,
      [0, 1, 2, 3].map((k) =>
        `(func $h${k} (param $x i32) (result i32) (local $sp i32)
          (local.set $sp (i32.sub (global.get $sp) (i32.const 16))) (global.set $sp (local.get $sp))
          (if (i32.and (local.get $x) (i32.const 1)) (then (i32.store offset=${4 * k} (local.get $sp) (local.get $x))))
          (global.set $sp (i32.add (local.get $sp) (i32.const 16)))
          (i32.mul (local.get $x) (i32.const ${k + 3})))`
      ).join(" ") + "(global $sp (mut i32) (i32.const 4096))"
    ),
    calls: [[8192, 100]],
    bytes: (at) => at >= 8192 && at < 8260 ? 2 * (at - 8192) + 1 : 2
  },
  {
    name: "the first iteration behind the chunks leaves before it stores to a fixed place",
    wat: module(
      "(param $a i32) (param $n i32) (result i32) (local $i i32)",
      `(block $out (loop $l
        (br_if $out (i32.eq ${byte("$a")} (i32.const 254)))
        (i32.store (i32.const 256) (local.get $i))
        (i32.store offset=4096 ${word("$a")} (i32.load (i32.const 256)))
        ${next("$n")}))
      (local.get $i)`
    ),
    calls: around.map((n) => [8192, n]),
    bytes: (at) => at === 8192 + 31 ? 254 : 0
  },
  {
    name: "a way out that stores what iterations load",
    wat: module(
      "(param $a i32) (param $n i32) (result i32) (local $i i32)",
      `(block $out (loop $l
        (if (i32.eq ${byte("$a")} (i32.const 254)) (then (i32.store (i32.const 256) (local.get $i)) (br $out)))
        (i32.store offset=4096 ${word("$a")} (i32.load (i32.const 256)))
        ${next("$n")}))
      (local.get $i)`
    ),
    calls: [[8192, 40], [8192, 20]],
    bytes: (at) => at === 8192 + 20 || at === 8192 + 35 ? 254 : 0
  },
  {
    name: "a store that is never reached, far outside memory, in a loop that ends early",
    wat: module(
      "(param $a i32) (param $n i32) (param $v i32) (result i32) (local $i i32)",
      `(block $out (loop $l
        (br_if $out (i32.eq ${byte("$a")} (i32.const 254)))
        (if (local.get $v) (then (i32.store offset=60000 ${word("$a")} (local.get $i))))
        (i32.store offset=4096 ${word("$a")} (local.get $i))
        ${next("$n")}))
      (local.get $i)`
    ),
    calls: [[8192, 40, 0], [8192, 20, 0], [8192, 20, 1]],
    bytes: (at) => at === 8192 + 31 ? 254 : 0
  },
  {
    name: "a row of scratch that is written zero times",
    wat: module(
      "(param $d i32) (param $n i32) (param $w i32) (local $i i32) (local $j i32)",
      `(loop $l
        (local.set $j (i32.const 0))
        (block $o (loop $m
          (br_if $o (i32.ge_s (local.get $j) (local.get $w)))
          (i32.store8 offset=256 (local.get $j) (i32.add (local.get $i) (local.get $j)))
          (local.set $j (i32.add (local.get $j) (i32.const 1)))
          (br $m)))
        (i32.store ${word("$d")} (i32.load8_u offset=256 (i32.const 0)))
        (i32.store8 offset=256 (i32.const 0) (i32.add (local.get $i) (i32.const 5)))
        ${next("$n")})`
    ),
    calls: [0, 1, 5, -5].map((w) => [8192, 40, w])
  },
  ...[
    ["either of two conditions of the data", `(i32.and ${byte("$a")} (i32.const 1))`],
    ["a condition that never changes, or one of the data,", "(local.get $v)"]
  ].map(([what, first]): Regression => ({
    name: `${what} leads to a store to a fixed place`,
    wat: module(
      "(param $a i32) (param $d i32) (param $n i32) (param $v i32) (local $i i32)",
      `(loop $l
        (block $skip
          (block $x (br_if $x ${first}) (br_if $skip (i32.eqz (i32.and ${byte("$a")} (i32.const 2)))))
          (i32.store (i32.const 256) (local.get $i)))
        (i32.store ${word("$d")} (local.get $i))
        ${next("$n")})`
    ),
    calls: [[1024, 8192, 40, 0], [1024, 8192, 40, 1]],
    bytes: (at) => at < 1050 ? at * 7 & 3 : 0
  })),
  ...[
    ["divides by zero", `(i32.div_u (i32.const 100) ${byte("$b")})`, ""],
    ["comes to unreachable", "(local.get $i)", `(if (i32.eqz ${byte("$b")}) (then (unreachable)))`]
  ].map(([what, value, trap]): Regression => ({
    name: `the first iteration behind the chunks ${what} before it sets a global`,
    wat: module(
      "(param $b i32) (param $d i32) (param $n i32) (local $i i32)",
      `(loop $l (i32.store ${word("$d")} ${value}) ${trap} (global.set $g (local.get $i)) ${next("$n")})`
    ),
    calls: [35, 36, 37, 38, 39, 40, 41, 42].map((n) => [1024, 8192, n]),
    bytes: (at) => at === 1024 + 38 ? 0 : 3
  })),
  ...[
    ["", `(if (i32.eqz ${byte("$b")}) (then (global.set $g (local.get $kept)) (unreachable)))`],
    [", in a callee", `(call $check ${byte("$b")} (local.get $kept))`]
  ].map(([where, fail]): Regression => ({
    name: `a global is set to a value of the iteration before and then all is over${where}`,
    wat: module(
      "(param $b i32) (param $d i32) (param $n i32) (local $i i32) (local $kept i32)",
      `(loop $l
        (i32.store ${word("$d")} (local.get $i)) ${fail}
        (local.set $kept (i32.mul (local.get $i) (i32.const 3)))
        ${next("$n")})`,
      `(func $check (param i32 i32)
        (if (i32.eqz (local.get 0)) (then (global.set $g (local.get 1)) (unreachable))))`
    ),
    calls: [35, 36, 37, 38, 39, 40, 41, 42].map((n) => [1024, 8192, n]),
    bytes: (at) => at === 1024 + 38 ? 0 : 3
  })),
  {
    name: "an inner loop behind an early exit that ends for some data only",
    wat: module(
      "(param $a i32) (param $n i32) (result i32) (local $i i32) (local $v i32)",
      `(block $out (loop $l
        (local.set $v ${byte("$a")})
        (br_if $out (i32.eqz (local.get $v)))
        (loop $m (br_if $m (local.tee $v (i32.and (i32.sub (local.get $v) (i32.const 2)) (i32.const 255)))))
        (i32.store8 offset=4096 (i32.add (local.get $a) (local.get $i)) (local.get $i))
        ${next("$n")}))
      (local.get $i)`
    ),
    calls: [[1024, 40]],
    bytes: (at) =>
      at < 1024 || at >= 1088 ? 0 : at < 1044 ? 2 * (at - 1024) + 2 : at === 1044 ? 0 : 2 * (at - 1024) + 1,
    endless: true
  },
  {
    name: "a loop on a way out that ends for some data only",
    wat: module(
      "(param $a i32) (param $n i32) (result i32) (local $i i32) (local $v i32)",
      `(block $out (loop $l
        (local.set $v ${byte("$a")})
        (if (local.get $v) (then
          (loop $m (br_if $m (local.tee $v (i32.and (i32.sub (local.get $v) (i32.const 2)) (i32.const 255)))))
          (br $out)))
        (i32.store8 offset=4096 (i32.add (local.get $a) (local.get $i)) (local.get $i))
        ${next("$n")}))
      (local.get $i)`
    ),
    calls: [[1024, 40]],
    bytes: (at) => at === 1024 + 20 ? 4 : at === 1024 + 30 ? 5 : 0,
    endless: true
  }
]

/** Memory before a call. */
export const regressionImage = ({ bytes, words }: Regression): Uint8Array => {
  const image = Uint8Array.from({ length: 65_536 }, (_, at) => bytes?.(at) ?? 0)
  const view = new DataView(image.buffer)
  for (const [at, value] of Object.entries(words ?? {})) view.setInt32(Number(at), value, true)
  return image
}
