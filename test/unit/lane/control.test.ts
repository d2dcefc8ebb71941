import { assert, describe, it } from "vitest"
import {
  CONTROL_BYTES,
  CONTROL_MAGIC,
  CONTROL_VERSION,
  FRAME_BYTE,
  LANE_WORDS,
  laneWord,
  makeControl,
  MAXIMUM_LANES,
  Word
} from "../../../src/lane/control.ts"

describe("control words", () => {
  it("leave the frame to the chunk: the last lane's block ends where the frame begins", () => {
    assert.strictEqual(laneWord(MAXIMUM_LANES, 0) * 4, FRAME_BYTE)
    assert.isBelow(FRAME_BYTE, CONTROL_BYTES)
  })

  it("are the sixteen fixed words of a block, each named once", () => {
    assert.deepStrictEqual(Object.values(Word).sort((a, b) => a - b), Array.from({ length: 16 }, (_, word) => word))
    assert.isAtMost(Object.keys(Word).length, LANE_WORDS)
  })

  it("begin with magic and version in the blocks of the lanes asked for, and only there", () => {
    const words = new Int32Array(makeControl(2).buffer)
    assert.strictEqual(words.byteLength, CONTROL_BYTES)
    for (const lane of [0, 1]) {
      assert.strictEqual(words[laneWord(lane, Word.MAGIC)], CONTROL_MAGIC)
      assert.strictEqual(words[laneWord(lane, Word.VERSION)], CONTROL_VERSION)
    }
    assert.isTrue(words.subarray(laneWord(2, 0)).every((word) => word === 0))
    assert.strictEqual(new TextDecoder().decode(new Uint8Array(words.buffer).slice(0, 4)), "FOLI")
  })

  it("have room for so many lanes and no more", () => {
    assert.doesNotThrow(() => makeControl(MAXIMUM_LANES))
    assert.throws(() => makeControl(MAXIMUM_LANES + 1), RangeError)
  })
})
