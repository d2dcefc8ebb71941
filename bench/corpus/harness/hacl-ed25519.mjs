import { bytes, require } from "../lib/util.mjs"
export default {
  name: "hacl-ed25519",
  pkg: "hacl-wasm",
  what: "HACL* Ed25519 sign x12 (KaRaMeL-extracted, ~70 linked modules over one imported memory)",
  async setup({ small }) {
    const H = await require("hacl-wasm").getInitializedHaclModule()
    const sk = bytes(32, 43), m = bytes(1024, 44)
    const n = small ? 1 : 12
    return () => {
      const o = []
      for (let i = 0; i < n; i++) {
        m[0] = i
        o.push(Buffer.from(H.Ed25519.sign(sk, m)[0]))
      }
      return Buffer.concat(o)
    }
  }
}
