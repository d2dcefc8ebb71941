import { load } from "../lib/util.mjs"
const mk = (n, k) =>
  Float32Array.from(
    { length: n },
    (_, i) => .4 * Math.fround(Math.sin(i * .031 * k)) + .3 * Math.fround(Math.sin(i * .0071 * (1 + (i >> 13) % 5)))
  )
export default {
  name: "mp3-encode",
  pkg: "wasm-media-encoders",
  what: "LAME MP3 encode 4 s of 44.1 kHz stereo, VBR q2 (C)",
  async setup({ small }) {
    const { createMp3Encoder } = await load("wasm-media-encoders/dist/es/index.mjs")
    const e = await createMp3Encoder()
    const n = small ? 4608 : 44100 * 4, l = mk(n, 1), r = mk(n, 1.5)
    return () => {
      e.configure({ sampleRate: 44100, channels: 2, vbrQuality: 2 })
      const p = []
      p.push(e.encode([l, r]).slice())
      p.push(e.finalize().slice())
      return Buffer.concat(p)
    }
  }
}
