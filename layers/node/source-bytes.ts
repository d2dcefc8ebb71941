/**
 * The bytes of a buffer source, read by internal slots alone: no property that a program may have replaced is looked
 * at, and nothing of the program's runs.
 *
 * @since 0.1.0
 */

const { types } = process.getBuiltinModule("node:util")

const getter = (of: object, name: string): (self: object) => unknown => {
  const get = Object.getOwnPropertyDescriptor(of, name)?.get
  return get === undefined ? () => undefined : (self) => Reflect.apply(get, self, [])
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object
const arrayBuffer = getter(typedArray, "buffer")
const arrayOffset = getter(typedArray, "byteOffset")
const arrayLength = getter(typedArray, "byteLength")

/**
 * Bytes seen through a buffer source.
 *
 * @category models
 * @since 0.1.0
 */
export interface SourceBytes {
  readonly bytes: Uint8Array
  /** Another thread may change them at any time. */
  readonly shared: boolean
}

/**
 * The bytes that the engine would compile, or `undefined` where it would refuse the value (no buffer source, detached,
 * out of bounds).
 *
 * @category reading
 * @since 0.1.0
 */
export const sourceBytes = (source: unknown): SourceBytes | undefined => {
  try {
    // V8 takes typed arrays over shared memory, but neither the shared buffer itself nor a DataView.
    if (types.isArrayBuffer(source)) return { bytes: new Uint8Array(source), shared: false }
    if (types.isTypedArray(source)) {
      const buffer = arrayBuffer(source) as ArrayBuffer
      const bytes = new Uint8Array(buffer, arrayOffset(source) as number, arrayLength(source) as number)
      return { bytes, shared: types.isSharedArrayBuffer(buffer) }
    }
  } catch {
    // A detached buffer, or a view that its buffer has shrunk away from: the engine says what it thinks of it.
  }
  return undefined
}

/** "\0asm" and version 1. */
const preamble = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]

/**
 * Whether bytes begin as a module does, as far as they go.
 *
 * @category reading
 * @since 0.1.0
 */
export const beginsAsModule = (bytes: Uint8Array): boolean =>
  preamble.every((byte, index) => index >= bytes.length || bytes[index] === byte)

/**
 * Bytes of the shortest module.
 *
 * @category reading
 * @since 0.1.0
 */
export const shortestModule = preamble.length
