/**
 * Comparing a run with one of the original module: results by their bits, every byte of every memory, every global.
 *
 * Both sides run the module with its memories and globals exported besides (appended, so that nothing else changes),
 * because a module need not export what it computes with.
 *
 * @since 0.1.0
 */
import { emitModule } from "../../src/binary/emit.ts"
import type { FunctionType, WasmModule } from "../../src/binary/module.ts"
import { bitsCaller, globalBits } from "../../src/wire/bits.ts"
import { trapKind } from "../../src/wire/trap.ts"
import { formatBits, hasBits } from "../../src/wire/values.ts"

/** Names of the exports that are added; a module that has such names itself is not changed. */
const PREFIX = "\u0000verify:"

/**
 * A place where the two sides are not equal.
 *
 * @category models
 * @since 0.1.0
 */
export interface Difference {
  /** For example `result 0`, `memory 0 at 0x10`, `global 3`. */
  readonly where: string
  readonly native: string
  readonly folio: string
}

/**
 * How a call ended.
 *
 * @category models
 * @since 0.1.0
 */
export type Ending =
  | { readonly kind: "returned"; readonly bits: ReadonlyArray<bigint> }
  | { readonly kind: "trapped"; readonly trap: string }

/**
 * The module with all its memories and globals exported.
 *
 * @category instrumentation
 * @since 0.1.0
 */
export const withStateExported = (decoded: WasmModule): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    emitModule(decoded, {
      exports: [
        ...decoded.memories.map((_, index) => ({ name: `${PREFIX}memory:${index}`, kind: "memory" as const, index })),
        ...decoded.globals.map((_, index) => ({ name: `${PREFIX}global:${index}`, kind: "global" as const, index }))
      ]
    })
  )

/** An entry of an instance, called with bits; a trap is an ending, any other exception is thrown. */
const endingOf = (entry: Function, type: FunctionType, args: ReadonlyArray<bigint>): Ending => {
  try {
    return { kind: "returned", bits: bitsCaller(entry, type)?.(args) ?? [] }
  } catch (error) {
    const trap = trapKind(error)
    if (trap === undefined) throw error
    return { kind: "trapped", trap }
  }
}

/**
 * The original module beside the one under test: an instance of its own, called as that one is.
 *
 * @category instrumentation
 * @since 0.1.0
 */
export const nativeInstance = async (
  decoded: WasmModule,
  bytes: Uint8Array<ArrayBuffer>
): Promise<{
  readonly exports: WebAssembly.Exports
  readonly call: (entry: string, type: FunctionType, args: ReadonlyArray<bigint>) => Ending
}> => {
  const imports: Record<string, Record<string, WebAssembly.Memory>> = {}
  for (const entry of decoded.imports) {
    if (entry.kind !== "memory") continue
    const { max, min, shared } = entry.limits
    const limits = max === undefined ? { initial: min, shared } : { initial: min, maximum: max, shared }
    ;(imports[entry.module] ??= {})[entry.name] = new WebAssembly.Memory(limits)
  }
  const { instance } = await WebAssembly.instantiate(bytes, imports)
  return {
    exports: instance.exports,
    call: (entry, type, args) => endingOf(instance.exports[entry] as Function, type, args)
  }
}

const compareMemories = (
  index: number,
  native: WebAssembly.Memory,
  folio: WebAssembly.Memory
): Difference | undefined => {
  const [a, b] = [Buffer.from(native.buffer), Buffer.from(folio.buffer)]
  if (a.length !== b.length) {
    return { where: `size of memory ${index}`, native: String(a.length), folio: String(b.length) }
  }
  if (a.equals(b)) return undefined
  const at = a.findIndex((byte, position) => byte !== b[position])
  const hex = (bytes: Buffer) => bytes.subarray(at, at + 8).toString("hex")
  return { where: `memory ${index} at 0x${at.toString(16)}`, native: hex(a), folio: hex(b) }
}

const compareEndings = (native: Ending, folio: Ending, type: FunctionType): ReadonlyArray<Difference> => {
  const text = (ending: Ending) => ending.kind === "returned" ? "returned" : `trapped (${ending.trap})`
  if (native.kind !== "returned" || folio.kind !== "returned") {
    return text(native) === text(folio) ? [] : [{ where: "end of the call", native: text(native), folio: text(folio) }]
  }
  return type.results.flatMap((result, index) => {
    if (!hasBits(result) || native.bits[index] === folio.bits[index]) return []
    const [a, b] = [formatBits(result, native.bits[index]), formatBits(result, folio.bits[index])]
    return [{ where: `result ${index} (${result})`, native: a, folio: b }]
  })
}

/**
 * All differences after a call of both sides, at most one for each memory.
 *
 * @category comparison
 * @since 0.1.0
 */
export const differences = (
  decoded: WasmModule,
  type: FunctionType,
  native: { readonly exports: WebAssembly.Exports; readonly ending: Ending },
  folio: { readonly exports: WebAssembly.Exports; readonly ending: Ending }
): ReadonlyArray<Difference> => {
  const memories = decoded.memories.flatMap((_, index) => {
    const name = `${PREFIX}memory:${index}`
    const difference = compareMemories(
      index,
      native.exports[name] as WebAssembly.Memory,
      folio.exports[name] as WebAssembly.Memory
    )
    return difference === undefined ? [] : [difference]
  })
  const globals = decoded.globals.flatMap(({ mutable, valueType }, index) => {
    if (!hasBits(valueType)) return []
    const [a, b] = globalBits([native, folio].map(({ exports }) => ({
      global: exports[`${PREFIX}global:${index}`] as WebAssembly.Global,
      type: valueType,
      mutable
    })))
    const where = `global ${index} (${valueType})`
    return a === b ? [] : [{ where, native: formatBits(valueType, a), folio: formatBits(valueType, b) }]
  })
  return [...compareEndings(native.ending, folio.ending, type), ...memories, ...globals]
}
