import { require, rng } from "../lib/util.mjs"
export default {
  name: "opus-encode",
  pkg: "opusscript",
  what: "Opus encode 4 s of 48 kHz stereo, 20 ms frames (C, embind)",
  async setup({ small }) {
    const O = require("opusscript")
    const n = small ? 4 : 200, r = rng(24)
    const pcm = new Int16Array(960 * 2 * n)
    for (let i = 0; i < 960 * n; i++) {
      const v = 9000 * Math.sin(i * .031) + 5000 * Math.sin(i * .0071 * (1 + (i >> 13) % 5)) + (r() & 511)
      pcm[2 * i] = v
      pcm[2 * i + 1] = v * .6
    }
    const b = Buffer.from(pcm.buffer)
    return () => {
      const o = new O(48000, 2, O.Application.AUDIO)
      const out = []
      for (let i = 0; i < n; i++) out.push(Buffer.from(o.encode(b.subarray(i * 3840, i * 3840 + 3840), 960)))
      o.delete()
      return Buffer.concat(out)
    }
  }
}
