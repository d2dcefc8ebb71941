/**
 * The program of the session suite, and the original module as its oracle.
 */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import type { Session } from "../../services/Folio.ts"
import { decodeModule, type FunctionType } from "../../src/binary/module.ts"
import { bitsCaller, globalBits } from "../../src/wire/bits.ts"
import { assemble } from "../support/wat.ts"

/** `program.wat`, assembled. */
export const program = await assemble(readFileSync(new URL("program.wat", import.meta.url), "utf8"))

/** A module without loops. */
export const loopless = await assemble(`(module
  (memory (export "memory") 1)
  (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))`)

/** The host's side: what `tick` does can be set. */
export interface Host {
  readonly imports: WebAssembly.Imports
  tick: (n: number) => number
}

export const makeHost = (tick: (n: number) => number = (n) => n + 3): Host => {
  const host: Host = { tick, imports: { host: { tick: (n: number) => host.tick(n) } } }
  return host
}

const decoded = decodeModule(program)

const typeOf = (entry: string): FunctionType => {
  const found = decoded.exports.find((one) => one.name === entry)
  return decoded.types[decoded.functions[found!.index].typeIndex]!
}

/** The exports that the suite uses. */
export interface Exports {
  readonly memory: WebAssembly.Memory
  readonly calls: WebAssembly.Global
  readonly quiet: WebAssembly.Global
  readonly [entry: string]: unknown
}

/** The original module, instantiated by the engine alone. */
export const original = (host: Host): Exports =>
  new WebAssembly.Instance(new WebAssembly.Module(program), host.imports).exports as unknown as Exports

/** Calls an entry of an instance with values, as JavaScript does. */
export const callValues = (exports: Exports, entry: string, args: ReadonlyArray<unknown>): unknown =>
  (exports[entry] as (...args: ReadonlyArray<unknown>) => unknown)(...args)

/** Calls an entry of an instance with bits. */
export const callBits = (exports: Exports, entry: string, args: ReadonlyArray<bigint>): ReadonlyArray<bigint> =>
  bitsCaller(exports[entry] as Function, typeOf(entry))!(args)

export const exportsOf = (session: Session): Exports => session.exports as unknown as Exports

const globals = ({ calls, quiet }: Exports) =>
  globalBits([{ global: calls, type: "i64", mutable: true }, { global: quiet, type: "f32", mutable: false }])

/** Asserts that every byte of memory and the bits of all globals are those of the original. */
export const assertSameState = (session: Session, oracle: Exports, label: string): void => {
  const [mine, theirs] = [exportsOf(session), oracle]
  const [a, b] = [Buffer.from(mine.memory.buffer), Buffer.from(theirs.memory.buffer)]
  assert.strictEqual(a.length, b.length, `${label}: size of the memory`)
  if (!a.equals(b)) assert.fail(`${label}: memory differs at byte ${a.findIndex((byte, at) => byte !== b[at])}`)
  assert.deepStrictEqual(globals(mine), globals(theirs), `${label}: globals`)
}

/** Fills both memories with the same bytes. */
export const fill = (session: Session, oracle: Exports, seed: number): void => {
  let state = seed >>> 0
  const bytes = new Uint8Array(oracle.memory.buffer.byteLength)
  for (let at = 0; at < bytes.length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[at] = state >>> 24
  }
  new Uint8Array(oracle.memory.buffer).set(bytes)
  new Uint8Array(exportsOf(session).memory.buffer).set(bytes)
}
