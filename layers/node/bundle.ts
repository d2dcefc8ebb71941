/**
 * What an instance of a patched module is bound with, as bytes: in the cache behind the patch, and in the module itself
 * as the section that goes with its clones.
 *
 * ```text
 * bundle = build:name identity:u64 plan:blob guard:blob chunks:u32 blob{chunks}     (blob: u32 length, bytes)
 * ```
 *
 * @since 0.1.0
 */
import { ByteReader } from "../../src/binary/reader.ts"
import { ByteWriter } from "../../src/binary/writer.ts"
import type { Plan } from "../../src/plan/types.ts"
import { CLONE_SECTION } from "./marker.ts"

/**
 * What belongs to one patched module.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bundle {
  /** Build of Folio that made it; no other one can use it. */
  readonly build: string
  /** Number under which instances are known. */
  readonly identity: bigint
  /** The plan, with its planned loops only. */
  readonly plan: Plan
  readonly guard: Uint8Array
  readonly chunks: ReadonlyArray<Uint8Array>
}

/**
 * Writes bytes with their length in front.
 *
 * @category writing
 * @since 0.1.0
 */
export const writeBlob = (out: ByteWriter, bytes: Uint8Array): ByteWriter => out.u32(bytes.length).bytes(bytes)

/**
 * Reads what {@link writeBlob} wrote, without copying it.
 *
 * @category reading
 * @since 0.1.0
 */
export const readBlob = (reader: ByteReader): Uint8Array => {
  const length = reader.u32()
  const start = reader.skip(length)
  return reader.bytes.subarray(start, start + length)
}

/**
 * Writes a bundle.
 *
 * @category writing
 * @since 0.1.0
 */
export const encodeBundle = ({ build, chunks, guard, identity, plan }: Bundle): Uint8Array<ArrayBuffer> => {
  const out = new ByteWriter().name(build).fixed64(BigInt.asUintN(64, identity))
  const planned = { ...plan, loops: plan.loops.filter(({ _tag }) => _tag === "planned") }
  writeBlob(out, new TextEncoder().encode(JSON.stringify(planned)))
  writeBlob(out, guard)
  out.u32(chunks.length)
  for (const chunk of chunks) writeBlob(out, chunk)
  return out.finish()
}

/**
 * Reads a bundle. `undefined` where another build made it; throws `ModuleFormatError` or `SyntaxError` where it is
 * damaged.
 *
 * @category reading
 * @since 0.1.0
 */
export const decodeBundle = (bytes: Uint8Array, build: string): Bundle | undefined => {
  const reader = new ByteReader(bytes, 0, bytes.length)
  if (reader.name() !== build) return undefined
  const low = BigInt(reader.fixed32())
  const identity = BigInt.asIntN(64, BigInt(reader.fixed32()) << 32n | low)
  const plan = JSON.parse(new TextDecoder().decode(readBlob(reader))) as Plan
  const guard = readBlob(reader)
  const chunks = Array.from({ length: reader.u32() }, () => readBlob(reader))
  return { build, identity, plan, guard, chunks }
}

/**
 * A patched module with its bundle behind it, as a custom section.
 *
 * @category writing
 * @since 0.1.0
 */
export const withBundle = (module: Uint8Array, bundle: Uint8Array): Uint8Array<ArrayBuffer> => {
  const name = new ByteWriter().name(CLONE_SECTION)
  const head = new ByteWriter().u8(0).u32(name.length + bundle.length).append(name).finish()
  const whole = new Uint8Array(module.length + head.length + bundle.length)
  whole.set(module)
  whole.set(head, module.length)
  whole.set(bundle, module.length + head.length)
  return whole
}
