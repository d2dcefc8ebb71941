/**
 * Bytes joined so that they come apart again, and numbers among them.
 *
 * ```text
 * blobs = count:u32 length:u32{count} byte…      all numbers in little-endian bytes
 * ```
 *
 * @since 0.1.0
 */

/**
 * The bytes of a text in UTF-8.
 *
 * @category encoding
 * @since 0.1.0
 */
export const textBytes = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)

/**
 * A view of bytes for numbers.
 *
 * @category decoding
 * @since 0.1.0
 */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/**
 * Whether both are the same bytes.
 *
 * @category comparing
 * @since 0.1.0
 */
export const sameBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && Buffer.compare(left, right) === 0

/**
 * Joins arrays of bytes so that {@link splitBlobs} finds them again.
 *
 * @category encoding
 * @since 0.1.0
 */
export const joinBlobs = (blobs: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const head = 4 + 4 * blobs.length
  const joined = new Uint8Array(blobs.reduce((length, blob) => length + blob.length, head))
  const view = viewOf(joined)
  view.setUint32(0, blobs.length, true)
  let at = head
  for (const [index, blob] of blobs.entries()) {
    view.setUint32(4 + 4 * index, blob.length, true)
    joined.set(blob, at)
    at += blob.length
  }
  return joined
}

/**
 * The arrays that were joined, without copying them. Throws a `RangeError` where lengths do not add up.
 *
 * @category decoding
 * @since 0.1.0
 */
export const splitBlobs = (joined: Uint8Array): ReadonlyArray<Uint8Array> => {
  const view = viewOf(joined)
  const count = view.getUint32(0, true)
  if (count > joined.length) throw new RangeError("more parts than bytes")
  let at = 4 + 4 * count
  const blobs = Array.from({ length: count }, (_, index) => {
    const length = view.getUint32(4 + 4 * index, true)
    at += length
    return joined.subarray(at - length, at)
  })
  if (at !== joined.length) throw new RangeError("the lengths do not add up")
  return blobs
}
