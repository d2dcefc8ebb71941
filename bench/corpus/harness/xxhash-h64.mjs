import { bytes, load } from "../lib/util.mjs"
export default {
  name: "xxhash-h64",
  pkg: "xxhash-wasm",
  what: "xxHash64 of 32 MiB (hand-written WAT)",
  async setup({ small }) {
    const x = (await load("xxhash-wasm/esm/xxhash-wasm.js")).default
    const { h64Raw } = await x()
    const b = bytes(small ? 1 << 16 : 32 << 20, 2)
    return () => h64Raw(b).toString(16)
  }
}
