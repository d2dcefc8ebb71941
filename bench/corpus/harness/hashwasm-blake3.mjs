import { bytes, load } from "../lib/util.mjs"
export default {
  name: "hashwasm-blake3",
  pkg: "hash-wasm",
  what: "BLAKE3 of 8 MiB (C, base64 in JS)",
  async setup({ small }) {
    const { createBLAKE3 } = await load("hash-wasm/dist/index.esm.js")
    const h = await createBLAKE3()
    const b = bytes(small ? 1 << 16 : 8 << 20, 1)
    return () => {
      h.init()
      h.update(b)
      return h.digest("hex")
    }
  }
}
