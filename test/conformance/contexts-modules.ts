/**
 * Real modules and what to do with them: five inputs each, of different sizes and kinds, none of which another one
 * leaves the same bytes as.
 */
import { readFileSync } from "node:fs"
import { consumerFile, inlinedModule } from "../support/consumers.ts"

/** The inputs, by number: nothing to speak of, text, noise, much, and what a module may trap on or grow for. */
export const profiles = [0, 1, 2, 3, 4] as const

/** A real module. */
export interface Subject {
  readonly name: string
  readonly bytes: () => Uint8Array
  readonly imports: () => WebAssembly.Imports
  /** What a program does once, before the state that resets return to. */
  readonly begin: (guest: Guest) => void
  /** Does one profile; the answer is what a caller sees of it, a trap included. */
  readonly run: (guest: Guest, profile: number) => unknown
}

type Call = (...args: ReadonlyArray<number | bigint>) => number

/** An instance as a program uses it. */
export interface Guest {
  readonly exports: WebAssembly.Exports
  readonly call: Readonly<Record<string, Call>>
  readonly memory: WebAssembly.Memory
  /** The host's own writes: all of them go through here. */
  readonly write: (at: number, bytes: Uint8Array) => void
}

/** An instance of a subject. */
export const guestOf = (
  exports: WebAssembly.Exports,
  imports: WebAssembly.Imports,
  touch: (at: number, bytes: number) => void = () => {}
): Guest => {
  const memory = (exports["memory"] ?? exports["mem"] ?? imports["env"]["memory"]) as WebAssembly.Memory
  return {
    exports,
    call: exports as unknown as Record<string, Call>,
    memory,
    write: (at, bytes) => {
      new Uint8Array(memory.buffer).set(bytes, at)
      touch(at, bytes.length)
    }
  }
}

/** Numbers that look random and are the same every time. */
const noise = (length: number, seed: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  let state = seed * 2654435761 | 1
  for (let at = 0; at < length; at++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[at] = state
  }
  return bytes
}

/** What a call gives, or which trap it ends in. */
const outcome = (call: () => unknown): unknown => {
  try {
    return call()
  } catch (error) {
    return String(error)
  }
}

const fixture = (name: string) => (): Uint8Array =>
  readFileSync(new URL(`../../bench/fixtures/kernels/${name}.wasm`, import.meta.url))

const WORK = 65_536
const elements = [1, 40, 1_000, 60_000, 5_000]

/** The loops of `loops.c`: stores of every width, bulk copies, and a division that traps in the middle. */
const loops = (name: string): Subject => ({
  name,
  bytes: fixture(name),
  imports: () => ({}),
  begin: ({ call, write }) => {
    write(2 * WORK, noise(300_000, 9))
    call["mix_i64"](WORK, 3_000)
  },
  run: ({ call, write }, profile) => {
    const count = elements[profile]
    // The host writes the input, across pages and not aligned.
    write(2 * WORK + 4_093 * profile, noise(4 * count, profile + 1))
    const answers = [
      call["histogram"](WORK + 4 * profile, 2 * WORK, count),
      call["sum"](2 * WORK, count),
      call["saxpy"](8 * WORK + 2, 2 * WORK, profile, count),
      call["copy"](14 * WORK + 1, 2 * WORK, count),
      call["norm_f64"](18 * WORK - 4, 2 * WORK, Math.min(count, 4_000)),
      call["reverse"](2 * WORK, count)
    ]
    if (profile === 4) write(3 * WORK + 4 * 77, new Uint8Array(4))
    answers.push(outcome(() => call["divide_each"](20 * WORK, 2 * WORK, 3 * WORK, 300)) as number)
    return answers
  }
})

/** A word of the texts below that is no import of this file. */
const load = "import"

/** Writes UTF-16 text as the glue of the lexers does, growing the memory where it must. */
const lexer = (
  name: string,
  file: string,
  parse: (call: Guest["call"], at: number, length: number) => number
): Subject => ({
  name,
  bytes: () => inlinedModule(file),
  imports: () => ({}),
  begin: () => {},
  run: ({ call, exports, memory, write }, profile) => {
    const texts = [
      "",
      `${load} a, { b as c } from "x"\nexport const d = ${load}("y")\nexports.e = require("f")\n`,
      `module.exports = { ${Array.from({ length: 200 }, (_, i) => `name${i}`).join(", ")} }\n`,
      `exports.x = 1; ${load}("z${"z".repeat(40)}");\n`.repeat(150),
      // More than there is room for.
      `export { y } from "q"\n`.repeat(9_000)
    ]
    const text = texts[profile]
    const base = (exports["__heap_base"] as WebAssembly.Global).value as number
    const missing = base + 4 * (text.length + 1) - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / 65_536))
    const at = call["sa"](text.length)
    write(at, Buffer.from(text, "utf16le"))
    // One of the two has too little room for the longest text, and traps.
    return outcome(() => {
      const answers = [parse(call, at, text.length), call["e"]()]
      while (call["re"]() !== 0) answers.push(call["es"](), call["ee"]())
      return answers
    })
  }
})

const hashes: Subject = {
  name: "xxhash-wasm",
  bytes: () => consumerFile("xxhash-wasm/workerd/xxhash.wasm"),
  imports: () => ({}),
  begin: () => {},
  run: ({ call, memory, write }, profile) => {
    const length = [0, 20, 5_000, 60_000, 100_000][profile]
    if (length > memory.buffer.byteLength) memory.grow(2)
    write(0, noise(length, profile + 3))
    return [call["xxh32"](0, length, profile), outcome(() => call["xxh64"](0, length, BigInt(profile)))].map(String)
  }
}

/** Rust with its allocator, a panic hook and a callback into the host. */
const mappings: Subject = {
  name: "source-map",
  bytes: () => consumerFile("source-map/lib/mappings.wasm"),
  imports: () => ({ env: { mapping_callback: () => {} } }),
  begin: ({ call }) => {
    call["allocate_mappings"](100)
  },
  run: ({ call, write }, profile) => {
    const line = "AAAA,SAASA,CCCCD,GAAG;"
    const text = ["", line, line.repeat(50), line.repeat(3_000), `${line.repeat(20)}A!!`][profile]
    const at = call["allocate_mappings"](text.length)
    write(at, Buffer.from(text))
    const parsed = call["parse_mappings"](at)
    const error = call["get_last_error"]()
    if (parsed !== 0) {
      call["compute_column_spans"](parsed)
      call["by_generated_location"](parsed)
    }
    return [parsed, error]
  }
}

/** An imported memory, which the program made. */
const unsharp: Subject = {
  name: "multimath",
  bytes: () => consumerFile("multimath/lib/unsharp_mask_plugin/unsharp_mask.wasm"),
  imports: () => ({ env: { exp: Math.exp, memory: new WebAssembly.Memory({ initial: 40 }) } }),
  begin: ({ call }) => {
    call["__wasm_call_ctors"]()
  },
  run: ({ call, write }, profile) => {
    const [width, height] = [[1, 1], [40, 7], [33, 90], [300, 200], [64, 64]][profile]
    const pixels = width * height
    const [lightness, blurred, scratch, line] = [4, 6, 8, 10].map((bytes) => bytes * pixels)
    write(0, noise(4 * pixels, profile + 7))
    call["hsl_l16"](0, lightness, width, height)
    call["blurMono16"](lightness, blurred, scratch, line, line + 4 * Math.max(width, height), width, height, 1.5)
    call["unsharp"](0, 0, lightness, blurred, width, height, 80, profile)
    return undefined
  }
}

/** All of them. */
export const subjects: ReadonlyArray<Subject> = [
  loops("loops-o2"),
  loops("loops-simd"),
  {
    name: "compute",
    bytes: fixture("compute"),
    imports: () => ({}),
    begin: () => {},
    run: ({ call, write }, profile) => {
      const count = Math.min(elements[profile], 16_000)
      write(WORK, noise(4 * count, profile + 5))
      // The last one runs over the end of the memory and traps there.
      return outcome(() => call["compute"](WORK, profile === 4 ? 20_000 : count, 3))
    }
  },
  lexer("es-module-lexer", "es-module-lexer/dist/lexer.js", (call) => call["parse"]()),
  lexer(
    "cjs-module-lexer",
    "cjs-module-lexer/dist/lexer.mjs",
    (call, at, length) => call["parseCJS"](at, length, 0, 0, 0)
  ),
  hashes,
  mappings,
  unsharp
]
