/**
 * Joined bytes.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { joinBlobs, splitBlobs } from "../../../layers/node/bytes.ts"

describe("joined bytes", () => {
  it("come apart as they were", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.uint8Array({ maxLength: 30 }), { maxLength: 6 }), (blobs) => {
        assert.deepStrictEqual(splitBlobs(joinBlobs(blobs)).map((blob) => new Uint8Array(blob)), blobs)
      })
    )
  })

  it("are refused where lengths do not add up", () => {
    const joined = joinBlobs([new Uint8Array(3), new Uint8Array(5)])
    for (let length = 0; length < joined.length; length++) assert.throws(() => splitBlobs(joined.subarray(0, length)))
    assert.throws(() => splitBlobs(new Uint8Array([...joined, 0])))
    assert.throws(() => splitBlobs(new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0])))
  })
})
