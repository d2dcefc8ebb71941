import { require, tenc, text } from "../lib/util.mjs"
export default {
  name: "lz4-roundtrip",
  pkg: "lz4-wasm-nodejs",
  what: "LZ4 compress + decompress 4 MiB text (Rust lz4_flex)",
  async setup({ small }) {
    const z = require("lz4-wasm-nodejs")
    const d = tenc.encode(text(small ? 16384 : 4 << 20, 22))
    return () => {
      const c = z.compress(d)
      const e = z.decompress(c)
      if (e.length !== d.length) throw Error("len")
      return c
    }
  }
}
