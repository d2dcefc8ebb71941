import { require, tenc, text } from "../lib/util.mjs"
export default {
  name: "zstd-compress",
  pkg: "@bokuweb/zstd-wasm",
  what: "zstd level 12 of 1 MiB text (C)",
  async setup({ small }) {
    const z = require("@bokuweb/zstd-wasm")
    await z.init()
    const d = tenc.encode(text(small ? 16384 : 1 << 20, 21))
    return () => z.compress(d, 12)
  }
}
