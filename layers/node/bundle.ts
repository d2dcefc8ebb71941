/**
 * What an instance of a patched module is bound with, as bytes: in the cache behind the patch, and in the module itself
 * as the section that goes with its clones.
 *
 * ```text
 * bundle = blobs(build, identity:i64, plan as JSON, guard, chunk*)
 * ```
 *
 * @since 0.1.0
 */
import type { Plan } from "../../src/plan/types.ts"
import { joinBlobs, splitBlobs } from "./entry.ts"
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

const text = (value: string): Uint8Array => new TextEncoder().encode(value)

/**
 * Writes a bundle.
 *
 * @category writing
 * @since 0.1.0
 */
export const encodeBundle = ({ build, chunks, guard, identity, plan }: Bundle): Uint8Array<ArrayBuffer> => {
  const planned = { ...plan, loops: plan.loops.filter(({ _tag }) => _tag === "planned") }
  const number = new Uint8Array(new BigInt64Array([identity]).buffer)
  return joinBlobs([text(build), number, text(JSON.stringify(planned)), guard, ...chunks])
}

/**
 * Reads a bundle. `undefined` where another build made it; throws where it is damaged.
 *
 * @category reading
 * @since 0.1.0
 */
export const decodeBundle = (bytes: Uint8Array, build: string): Bundle | undefined => {
  const [of, number, plan, guard, ...chunks] = splitBlobs(bytes)
  const decoder = new TextDecoder()
  if (decoder.decode(of) !== build) return undefined
  const identity = new DataView(number.buffer, number.byteOffset, number.byteLength).getBigInt64(0, true)
  return { build, identity, plan: JSON.parse(decoder.decode(plan)) as Plan, guard, chunks }
}

/** LEB128 of an unsigned number below 2³². */
const leb = (value: number): ReadonlyArray<number> =>
  value < 128 ? [value] : [value % 128 | 128, ...leb(Math.floor(value / 128))]

/**
 * A patched module with its bundle behind it, as a custom section.
 *
 * @category writing
 * @since 0.1.0
 */
export const withBundle = (module: Uint8Array, bundle: Uint8Array): Uint8Array<ArrayBuffer> => {
  const name = text(CLONE_SECTION)
  const nameLength = leb(name.length)
  const head = [0, ...leb(nameLength.length + name.length + bundle.length), ...nameLength, ...name]
  const whole = new Uint8Array(module.length + head.length + bundle.length)
  whole.set(module)
  whole.set(head, module.length)
  whole.set(bundle, module.length + head.length)
  return whole
}
