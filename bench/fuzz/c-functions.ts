/**
 * Generated C functions: loops as people write them, over arrays that nobody promised to be apart. A compiler turns them
 * into the shapes that the analysis has to understand: rotated, strength-reduced, unrolled, vectorised, with frames.
 *
 * The text of a seed never depends on how it is compiled, and parts draw from generators of their own.
 */
import {
  condition,
  type Element,
  ELEMENTS,
  integer,
  isFloat,
  type Scope,
  value,
  withIntegers
} from "./c-expressions.ts"
import type { Choices } from "./choices.ts"

/**
 * A generated function: `name(a, b, c, index, n, m, s, v, r)`, whose arrays `a`, `b`, `c` have these elements and whose
 * `index` has words. `n` counts iterations, `m` those of inner loops, `s` strides, `v` and `r` are numbers.
 *
 * @category models
 * @since 0.1.0
 */
export interface CFunction {
  readonly name: string
  readonly elements: readonly [a: Element, b: Element, c: Element]
  /** True when every iteration of every loop touches an element further on: the loop leaves memory, however large `n` is. */
  readonly advances: boolean
  readonly text: string
}

/** Iterations that a data-dependent inner loop makes at most. */
const SEARCH_LIMIT = 24

/** How a loop counts. `{body}` stands for its statements; `i` is a number of the iteration in each. */
const LOOPS: ReadonlyArray<readonly [weight: number, text: string]> = [
  [8, "for (u32 i = 0; i < n; i++) {body}"],
  [4, "for (i32 i = 0; i < (i32)n; i++) {body}"],
  [2, "for (u32 i = 1; i + 1 < n; i++) {body}"],
  [2, "for (u32 i = 0; i < n; i += 2) {body}"],
  [1, "for (i32 i = 0; i <= (i32)n; i += 3) {body}"],
  [2, "for (u32 i = n; i-- > 0;) {body}"],
  [2, "for (i32 i = (i32)n - 1; i >= 0; i--) {body}"],
  [1, "for (u32 i = 0; i != n; i++) {body}"],
  [1, "for (u64 i = 0; i < n; i++) {body}"],
  [1, "if (n) { u32 i = 0; do {body} while (++i < n); }"],
  [1, "for (u32 i = r; i < n; i++) {body}"],
  [1, "{ u32 left = n, i = 0; while (left--) { {body} i++; } }"],
  [1, "for (u32 i = 0, end = n; i < end; i++) {body}"],
  [1, "for (u32 i = 0; i < n && i < 5000u; i++) {body}"]
]

/** Indices into an array that is only read. */
const READ = ["i", "i", "i", "i", "i + 1", "i + 3", "2 * i", "2 * i + 1", "4 * i + 2", "i * s", "i * m", "n - 1 - i"]
const READ_RARELY = ["index[i]", "i & 15", "i >> 1", "7", "m", "index[i] + 1", "(u32)table[i & 63] & 127", "i - 1"]

interface Shape {
  readonly choices: Choices
  readonly elements: readonly [a: Element, b: Element, c: Element]
  readonly scope: Scope
}

type Statement = (shape: Shape) => string

/** Where the loop stores: the same form throughout a function, so that iterations are mostly apart. */
const place = (choices: Choices): string =>
  choices.weighted([
    [10, "i"],
    [2, "2 * i"],
    [1, "i * s"],
    [1, "n - 1 - i"],
    [1, "i + 2"],
    [1, "i * m"],
    [1, choices.pick(["index[i]", "i >> 1", "i & 31", "3", "v & 63"])]
  ])

const block = (parts: ReadonlyArray<string>): string => `{ ${parts.join(" ")} }`

/** Statements of an iteration that store to `a` at `at`. */
const storing = (at: string): ReadonlyArray<readonly [weight: number, statement: Statement]> => {
  const target = `a[${at}]`
  const plain: Statement = ({ choices, elements, scope }) => `${target} = ${value(choices, scope, elements[0], 2)};`
  return [
    [8, plain],
    [3, ({ choices, elements, scope }) =>
      isFloat(elements[0])
        ? `${target} ${choices.pick(["+=", "-=", "*="])} ${value(choices, scope, elements[0], 1)};`
        : `${target} ${choices.pick(["+=", "^=", "-=", "|="])} ${value(choices, scope, elements[0], 1)};`],
    [3, (shape) => `if (${condition(shape.choices, shape.scope)}) ${plain(shape)}`],
    [1, (shape) => `if (${condition(shape.choices, shape.scope)}) ${plain(shape)} else ${plain(shape)}`],
    // Several elements an iteration, as pixels have.
    [
      2,
      ({ choices, elements, scope }) =>
        block([0, 1, 2].map((k) => `a[4 * i + ${k}] = ${value(choices, scope, elements[0], 1)};`))
    ],
    // A row an iteration.
    [
      2,
      ({ choices, elements, scope }) =>
        `for (u32 j = 0; j < m; j++) a[i * m + j] = ${value(choices, withIntegers(scope, "j"), elements[0], 1)};`
    ],
    // A sum of a window, or of a row.
    [3, ({ choices, elements }) => {
      const source = choices.pick(["b", "c"])
      const inner = choices.pick(["i + j", "i * m + j", "j", "i + j * s"])
      const type = isFloat(elements[source === "b" ? 1 : 2]) ? "f32" : "u32"
      const sum = `${type} sum = 0; for (u32 j = 0; j < m; j++) sum += ${source}[${inner}] * ${
        choices.pick(["1", "3", "2"])
      };`
      return `{ ${sum} ${target} = sum${choices.pick(["", " + 1", " * 2"])}; ${choices.pick(["", "(void)v;"])} }`
    }],
    // Scratch of its own, in the frame.
    [2, ({ choices, elements, scope }) => {
      const scratch: Scope = {
        ...scope,
        arrays: [{ name: "w", element: "u32" }],
        indices: ["i & 7", "3", "(i + v) & 7"]
      }
      const fill = choices.pick([
        `for (u32 j = 0; j < 8; j++) w[j] = ${integer(choices, withIntegers(scope, "j"), 1)};`,
        `for (u32 j = 0; j < 4; j++) { w[j] = ${integer(choices, withIntegers(scope, "j"), 1)}; w[7 - j] = j; }`,
        `w[i & 7] = ${integer(choices, scope, 1)};`
      ])
      return `{ u32 w[8]; ${choices.chance(0.2) ? "w[1] = v;" : ""} ${fill} ${target} = ${
        value(choices, scratch, elements[0], 1)
      }; }`
    }],
    // A search of known and of unknown length.
    [
      1,
      ({ choices, scope }) =>
        `{ u32 k = 0; while (k < ${SEARCH_LIMIT}u && ${
          condition(choices, withIntegers(scope, "k"))
        }) k++; ${target} = k; }`
    ],
    [
      1,
      ({ choices, elements, scope }) =>
        `switch (${integer(choices, scope, 0)} & 3) { case 0: ${target} = 1; break; case 1: ${target} = ${
          value(choices, scope, elements[0], 1)
        }; case 2: ${target} = ${value(choices, scope, elements[0], 0)}; break; default: ${
          choices.pick(["break;", `${target} = 9;`])
        } }`
    ]
  ]
}

/** Statements of an iteration that carry something on, leave early, or store elsewhere. */
const other: ReadonlyArray<readonly [weight: number, statement: Statement]> = [
  [
    6,
    ({ choices, scope }) => `${choices.pick(["sum +=", "sum ^=", "bits |=", "bits &="])} ${integer(choices, scope, 1)};`
  ],
  [1, ({ choices, scope }) => `wide ${choices.pick(["+=", "*=", "^="])} ${integer(choices, scope, 1)};`],
  [
    1,
    ({ choices, scope }) =>
      `{ i32 x = ${integer(choices, scope, 1)}; best = x ${choices.pick(["<", ">"])} best ? x : best; }`
  ],
  [
    2,
    ({ choices, scope }) =>
      `if (${condition(choices, scope)}) ${choices.pick(["break", "continue", "return sum", "return i"])};`
  ],
  [
    1,
    ({ choices, scope }) =>
      `if (${integer(choices, scope, 0)} == 77) ${choices.pick(["break", "return 5", "__builtin_trap()"])};`
  ],
  [1, ({ choices, scope }) => `sum = sum * 31 + ${integer(choices, scope, 1)};`],
  [1, ({ choices, scope }) => `{ u32 kept = last; last = ${integer(choices, scope, 0)}; sum += kept; }`],
  [1, () => "last = i;"],
  [1, ({ choices, scope }) => `counter ${choices.pick(["+=", "=", "^="])} ${integer(choices, scope, 0)};`],
  [
    1,
    ({ choices, scope }) =>
      `c[${choices.pick(["i", "i + 1", "index[i]", "5", "b[i] & 31"])}] = ${integer(choices, scope, 1)};`
  ],
  [1, ({ choices, scope }) => `if (${condition(choices, scope)}) c[fill++] = ${choices.pick(["i", "sum"])};`],
  [1, ({ choices }) => `touch(${choices.pick(["c", "index"])}, i & ${choices.pick(["7", "0xffff"])});`]
]

/** Elements that are read at an index cannot be floats there. */
const adapted = (text: string, elements: CFunction["elements"]): string =>
  text.replaceAll("b[i] & 31", isFloat(elements[1]) ? "(u32)i & 31" : "b[i] & 31")

const loop = (
  choices: Choices,
  elements: CFunction["elements"]
): { readonly text: string; readonly advances: boolean } => {
  const at = place(choices)
  const aliased = choices.chance(0.35)
  const scope: Scope = {
    arrays: [
      { name: "b", element: elements[1] },
      { name: "c", element: elements[2] },
      ...(aliased ? [{ name: "a", element: elements[0] }] : [])
    ],
    indices: [at, ...Array.from({ length: 3 }, () => choices.pick(choices.chance(0.22) ? READ_RARELY : READ))],
    integers: ["i", "v", "n", "x", "m"],
    floats: ["f"]
  }
  const shape: Shape = { choices, elements, scope }
  const parts = [
    `u32 x = ${integer(choices, { ...scope, integers: ["i", "v"], floats: [] }, 1)}; f32 f = ${
      choices.pick(["(f32)x", "0.5f * (i32)i", "3.0f"])
    };`,
    choices.weighted(storing(at))(shape)
  ]
  const advances = ["i", "2 * i", "i + 2"].includes(at) && parts[1].startsWith(`a[${at}]`) && !choices.chance(0.3)
  if (!advances) {
    while (choices.chance(0.4)) parts.push(choices.weighted(storing(at))(shape))
    while (choices.chance(0.25)) parts.splice(1 + choices.below(2), 0, choices.weighted(other)(shape))
  }
  const body = block(parts)
  // Images: rows of elements, the row's number in `y`.
  if (choices.chance(0.14)) {
    const rows = choices.pick(["m", "4", "(n >> 3)"])
    const text = `for (u32 y = 0; y < ${rows}; y++) for (u32 x0 = 0; x0 < n; x0++) { u32 i = y * n + x0; ${body} }`
    return { text: text.replaceAll("break;", "continue;"), advances: false }
  }
  return { text: choices.weighted(LOOPS).replace("{body}", () => body), advances }
}

/**
 * A function of a seed.
 *
 * @category generation
 * @since 0.1.0
 */
export const generateFunction = (choices: Choices, name: string): CFunction => {
  const words = choices.chance(0.4)
  const element = (): Element =>
    words ? choices.pick(["u32", "i32"]) : choices.weighted([[3, "u8"], [3, "u32"], [6, choices.pick(ELEMENTS)]])
  const elements = [element(), element(), element()] as const
  const [a, b, c] = elements
  const between = choices.pick(["", "", "last = sum;", "v += sum;", "counter = sum;"])
  const loops = [loop(choices.of("first"), elements)]
  if (choices.chance(0.3)) loops.push(loop(choices.of("second"), elements))
  const result = choices.pick(["sum", "sum + bits + best", "last", "(u32)wide + fill", "0"])
  const restrict = choices.chance(0.15) ? " restrict" : ""
  const text = `u32 EXPORT(${name})(${a} *${restrict} a, const ${b} *${restrict} b, ${c} *c, const u32 *index,
    u32 n, u32 m, u32 s, u32 v, u32 r) {
  u32 sum = v, bits = 0xffff, last = 0, fill = 0;
  i32 best = 0;
  u64 wide = 1;
  ${loops.map((one) => one.text).join(`\n  ${between}\n  `)}
  return ${result};
}`
  return { name, elements, advances: loops.every((one) => one.advances), text: adapted(text, elements) }
}

/** What every generated source begins with: types, a table, a global, functions that loops call. */
const PRELUDE = `typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;
#define EXPORT(name) __attribute__((export_name(#name), noinline)) name

static const u16 table[64] = {
  3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5,
  0, 2, 8, 8, 4, 1, 9, 7, 1, 6, 9, 3, 9, 9, 3, 7, 5, 1, 0, 5, 8, 2, 0, 9, 7, 4, 9, 4, 4, 5, 9, 2
};
u32 counter;

static inline i32 clamp(i32 x, i32 low, i32 high) { return x < low ? low : x > high ? high : x; }
static inline u32 rotate(u32 x, u32 by) { return x << (by & 31) | x >> (-by & 31); }
__attribute__((noinline)) static u32 spread(u32 x, u32 y) { return (x ^ x << 7) * 2654435761u + (y >> 3); }
__attribute__((noinline)) static void touch(void *at, u32 k) { ((u8 *)at)[k] ^= (u8)k; }
`

/**
 * A source of so many functions.
 *
 * @category generation
 * @since 0.1.0
 */
export const generateSource = (
  choices: Choices,
  count: number
): { readonly text: string; readonly functions: ReadonlyArray<CFunction> } => {
  const functions = Array.from({ length: count }, (_, k) => generateFunction(choices.of(`function ${k}`), `f${k}`))
  return { text: `${PRELUDE}\n${functions.map(({ text }) => text).join("\n\n")}\n`, functions }
}
