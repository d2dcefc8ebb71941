import { bytes, require } from "../lib/util.mjs"
export default {
  name: "sodium-chacha",
  pkg: "libsodium-wrappers",
  what: "XChaCha20-Poly1305 of 4 MiB (C, asm.js-style glue)",
  async setup({ small }) {
    const s = require("libsodium-wrappers")
    await s.ready
    const b = bytes(small ? 1 << 15 : 4 << 20, 4), n = bytes(24, 5), k = bytes(32, 6)
    return () => s.crypto_aead_xchacha20poly1305_ietf_encrypt(b, null, null, n, k)
  }
}
