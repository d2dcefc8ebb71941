/**
 * What belongs to one patched module and instances of it are bound with: a custom section behind the module itself, so
 * that its clones in other threads have it too.
 *
 * ```text
 * bundle = blobs(build, identity:i64, plan as JSON, guard, chunk*)
 * ```
 *
 * @since 0.1.0
 */
import type { Plan } from "../../src/plan/types.ts"
import { joinBlobs, splitBlobs, textBytes, viewOf } from "./bytes.ts"
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
  /** The plan, as far as running it needs it: planned loops only, without what they rest on. */
  readonly plan: Plan
  readonly guard: Uint8Array
  readonly chunks: ReadonlyArray<Uint8Array>
}

/**
 * Writes a bundle.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encodeBundle = ({ build, chunks, guard, identity, plan }: Bundle): Uint8Array<ArrayBuffer> => {
  const loops = plan.loops.flatMap((loop) => loop._tag === "planned" ? [{ ...loop, groups: [], obligations: [] }] : [])
  const number = new Uint8Array(new BigInt64Array([identity]).buffer)
  return joinBlobs([textBytes(build), number, textBytes(JSON.stringify({ ...plan, loops })), guard, ...chunks])
}

/**
 * The number in a bundle; `undefined` where another build made it. Throws where it is damaged.
 *
 * @category decoding
 * @since 0.1.0
 */
export const bundleIdentity = (bytes: Uint8Array, build: string): bigint | undefined => {
  const view = viewOf(bytes)
  const at = 4 + 4 * view.getUint32(0, true)
  const number = at + view.getUint32(4, true)
  return new TextDecoder().decode(bytes.subarray(at, number)) === build ? view.getBigInt64(number, true) : undefined
}

/**
 * Reads a bundle. `undefined` where another build made it; throws where it is damaged. What it returns holds a copy of
 * the bundle, not the bytes around it.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeBundle = (bytes: Uint8Array, build: string): Bundle | undefined => {
  const copy = new Uint8Array(bytes)
  const [, , plan, guard, ...chunks] = splitBlobs(copy)
  const identity = bundleIdentity(copy, build)
  if (identity === undefined) return undefined
  return { build, identity, plan: JSON.parse(new TextDecoder().decode(plan)) as Plan, guard, chunks }
}

/** LEB128 of an unsigned number below 2³². */
const leb = (value: number): ReadonlyArray<number> =>
  value < 128 ? [value] : [value % 128 | 128, ...leb(Math.floor(value / 128))]

/**
 * The module with the bundle behind it as a custom section.
 *
 * @category encoding
 * @since 0.1.0
 */
export const withBundle = (module: Uint8Array, bundle: Uint8Array): Uint8Array<ArrayBuffer> => {
  const name = textBytes(CLONE_SECTION)
  const nameLength = leb(name.length)
  const head = [0, ...leb(nameLength.length + name.length + bundle.length), ...nameLength, ...name]
  const joined = new Uint8Array(module.length + head.length + bundle.length)
  joined.set(module)
  joined.set(head, module.length)
  joined.set(bundle, module.length + head.length)
  return joined
}
