/**
 * A module of Folio's own that puts the pages of a memory back from an image of it, both as memories of one instance:
 * `memory.copy` between two memories moves a page in some 50 ns, where a view and `Uint8Array.set` take three times
 * that.
 *
 * ```wat
 * (module (import "m" "0" (memory $guest 0)) (import "m" "1" (memory $image 0)) (import "m" "2" (memory $map 0))
 *   (func (export "copy") (param $at i32) (param $bytes i32))
 *   (func (export "differs") (param $at i32) (result i32))      ;; whether the page at $at is not the image's
 *   (func (export "compare") (param $bytes i32) (result i32))   ;; copies the pages that differ, and counts them
 *   (func (export "sweep") (param $bytes i32) (result i32)))    ;; copies the pages marked in the map, and clears it
 * ```
 *
 * @since 0.1.0
 */
import { ByteWriter } from "../binary/writer.ts"
import { MARK_REACH, RESET_PAGE } from "./layout.ts"

/**
 * The module's functions. Addresses and lengths are bytes; a page is {@link RESET_PAGE} of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface PageFunctions {
  readonly copy: (at: number, bytes: number) => void
  readonly differs: (at: number) => number
  readonly compare: (bytes: number) => number
  /** Only where there is a store map. */
  readonly sweep?: (bytes: number) => number
}

const GUEST = 0
const IMAGE = 1
const MAP = 2
const I32 = 0x7f
const EMPTY = 0x40
const END = 0x0b
/** Bytes compared by one round of the loop. */
const STRIDE = 256

const get = (out: ByteWriter, local: number): ByteWriter => out.u8(0x20).u32(local)
const set = (out: ByteWriter, local: number): ByteWriter => out.u8(0x21).u32(local)
const constant = (out: ByteWriter, value: number): ByteWriter => out.u8(0x41).s32(value)
const add = (out: ByteWriter, local: number, value: number): ByteWriter =>
  set(constant(get(out, local), value).u8(0x6a), local)

/** copy(at, bytes) of what is on the stack: (at, at, bytes). */
const copyFromImage = (out: ByteWriter): ByteWriter => out.opcode(0xfc00a).u32(GUEST).u32(IMAGE)

const copyBody = (): Uint8Array => {
  const out = new ByteWriter(32).u8(0)
  return copyFromImage(get(get(get(out, 0), 0), 1)).u8(END).finish()
}

/** Vectors that hold where 16 bytes differ, one load of each memory behind the other, folded by `or`. */
const difference = (out: ByteWriter, address: number): void => {
  for (let offset = 0; offset < STRIDE; offset += 16) {
    get(out, address).opcode(0xfd000).memarg(0, offset, GUEST)
    get(out, address).opcode(0xfd000).memarg(0, offset, IMAGE)
    out.opcode(0xfd051)
    if (offset > 0) out.opcode(0xfd050)
  }
}

const differsBody = (): Uint8Array => {
  const [at, end] = [0, 1]
  const out = new ByteWriter(512).u8(1).u32(1).u8(I32)
  set(constant(get(out, at), RESET_PAGE).u8(0x6a), end)
  out.u8(0x03).u8(EMPTY)
  difference(out, at)
  out.opcode(0xfd053).u8(0x04).u8(EMPTY)
  constant(out, 1).u8(0x0f).u8(END)
  add(out, at, STRIDE)
  get(get(out, at), end).u8(0x49).u8(0x0d).u32(0)
  out.u8(END)
  return constant(out, 0).u8(END).finish()
}

/** The loop over pages is in one function with the loop over bytes: a call a page would be a fifth of the time. */
const compareBody = (): Uint8Array => {
  const [bytes, page, at, end, count] = [0, 1, 2, 3, 4]
  const out = new ByteWriter(640).u8(1).u32(4).u8(I32)
  out.u8(0x02).u8(EMPTY).u8(0x03).u8(EMPTY)
  get(get(out, page), bytes).u8(0x4f).u8(0x0d).u32(1)
  set(get(out, page), at)
  set(constant(get(out, page), RESET_PAGE).u8(0x6a), end)
  out.u8(0x02).u8(EMPTY).u8(0x03).u8(EMPTY)
  difference(out, at)
  out.opcode(0xfd053).u8(0x04).u8(EMPTY)
  copyFromImage(constant(get(get(out, page), page), RESET_PAGE))
  add(out, count, 1)
  out.u8(0x0c).u32(2).u8(END)
  add(out, at, STRIDE)
  get(get(out, at), end).u8(0x49).u8(0x0d).u32(0)
  out.u8(END).u8(END)
  set(get(out, end), page)
  out.u8(0x0c).u32(0).u8(END).u8(END)
  return get(out, count).u8(END).finish()
}

/** Looks at the map in words of eight pages; a marked page is copied with what lies around it, as far as there is. */
const sweepBody = (): Uint8Array => {
  const [bytes, word, index, last, count, from, to] = [0, 1, 2, 3, 4, 5, 6]
  const pageShift = Math.log2(RESET_PAGE)
  const out = new ByteWriter(256).u8(1).u32(6).u8(I32)
  out.u8(0x02).u8(EMPTY).u8(0x03).u8(EMPTY)
  get(out, word)
  constant(get(out, bytes), pageShift).u8(0x76).u8(0x4f).u8(0x0d).u32(1)
  get(out, word).u8(0x29).memarg(0, 0, MAP).u8(0x50).u8(0x45) // i64.load, i64.eqz, i32.eqz
  out.u8(0x04).u8(EMPTY)
  set(get(out, word), index)
  set(constant(get(out, word), 8).u8(0x6a), last)
  out.u8(0x03).u8(EMPTY)
  get(out, index).u8(0x2d).memarg(0, 0, MAP).u8(0x04).u8(EMPTY)
  // from = index == 0 ? 0 : page - reach
  constant(out, 0)
  constant(constant(get(out, index), pageShift).u8(0x74), MARK_REACH).u8(0x6b)
  set(get(out, index).u8(0x45).u8(0x1b), from)
  // to = min(page + 4096 + reach, bytes), as unsigned numbers
  constant(constant(get(out, index), pageShift).u8(0x74), RESET_PAGE + MARK_REACH).u8(0x6a).u8(0x22).u32(to)
  get(out, bytes)
  set(get(get(out, to), bytes).u8(0x49).u8(0x1b), to)
  get(get(out, from), from)
  copyFromImage(get(get(out, to), from).u8(0x6b))
  add(out, count, 1)
  out.u8(END)
  add(out, index, 1)
  get(get(out, index), last).u8(0x49).u8(0x0d).u32(0)
  out.u8(END)
  get(out, word).u8(0x42).s64(0n).u8(0x37).memarg(0, 0, MAP)
  out.u8(END)
  add(out, word, 8)
  out.u8(0x0c).u32(0).u8(END).u8(END)
  return get(out, count).u8(END).finish()
}

/** Name, type and body of each function. Types: 0 `(i32, i32) -> ()`, 1 `(i32) -> i32`. */
const functions = (map: boolean): ReadonlyArray<readonly [name: string, type: number, body: Uint8Array]> => [
  ["copy", 0, copyBody()],
  ["differs", 1, differsBody()],
  ["compare", 1, compareBody()],
  ...(map ? [["sweep", 1, sweepBody()] as const] : [])
]

const moduleBytes = (map: boolean): Uint8Array<ArrayBuffer> => {
  const list = functions(map)
  const types = new ByteWriter().u32(2)
  types.u8(0x60).u32(2).u8(I32).u8(I32).u32(0).u8(0x60).u32(1).u8(I32).u32(1).u8(I32)
  const memories = map ? 3 : 2
  const imports = new ByteWriter().u32(memories)
  for (let memory = 0; memory < memories; memory++) imports.name("m").name(String(memory)).u8(2).u8(0).u32(0)
  const indices = new ByteWriter().u32(list.length)
  const exports = new ByteWriter().u32(list.length)
  const code = new ByteWriter(4096).u32(list.length)
  for (const [index, [name, type, body]] of list.entries()) {
    indices.u32(type)
    exports.name(name).u8(0).u32(index)
    code.u32(body.length).bytes(body)
  }
  const out = new ByteWriter(4096).fixed32(0x6d736100).fixed32(1)
  return out.section(1, types).section(2, imports).section(3, indices).section(7, exports).section(10, code).finish()
}

/** Compiled once a thread: with and without a map. */
const compiled: Array<WebAssembly.Module | undefined> = []

/**
 * The functions over a memory, its image and, where there is one, its store map. Throws where the engine takes no
 * module of several memories.
 *
 * @category constructors
 * @since 0.1.0
 */
export const pageFunctions = (
  guest: WebAssembly.Memory,
  image: WebAssembly.Memory,
  map: WebAssembly.Memory | undefined
): PageFunctions => {
  const which = map === undefined ? 0 : 1
  const module = compiled[which] ??= new WebAssembly.Module(moduleBytes(map !== undefined))
  const memories = map === undefined ? { 0: guest, 1: image } : { 0: guest, 1: image, 2: map }
  return new WebAssembly.Instance(module, { m: memories }).exports as unknown as PageFunctions
}

let several: boolean | undefined

/**
 * Whether this engine takes modules with several memories, and vectors.
 *
 * @category probes
 * @since 0.1.0
 */
export const hasPageFunctions = (): boolean => several ??= WebAssembly.validate(moduleBytes(true))
