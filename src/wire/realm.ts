/**
 * Objects of the engine, told by what they are and not by who made them: those of another realm (a `vm` context, a
 * frame) are no instances of this one's classes, and hold the same.
 *
 * @since 0.1.0
 */

/** Whether the getter of a class takes a value for one of its own, which it does by an internal slot. */
const takes = (prototype: object, property: string, value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false
  try {
    Reflect.apply(Object.getOwnPropertyDescriptor(prototype, property)!.get!, value, [])
    return true
  } catch {
    return false
  }
}

/** Whether a value is a memory of some realm. @category queries @since 0.1.0 */
export const isMemory = (value: unknown): value is WebAssembly.Memory =>
  takes(WebAssembly.Memory.prototype, "buffer", value)

/** Whether a buffer is a shared one of some realm. @category queries @since 0.1.0 */
export const isSharedBuffer = (buffer: ArrayBufferLike): buffer is SharedArrayBuffer =>
  typeof SharedArrayBuffer !== "undefined" && takes(SharedArrayBuffer.prototype, "byteLength", buffer)
