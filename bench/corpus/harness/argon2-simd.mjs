import { bytes, load } from "../lib/util.mjs"
export default {
  name: "argon2-simd",
  pkg: "@phi-ag/argon2",
  what: "Argon2id t=2 m=16 MiB p=4 (C, SIMD)",
  async setup({ small }) {
    const a = await (await load("@phi-ag/argon2/dist/node.js")).default()
    const salt = bytes(16, 3)
    return () =>
      a.hash("correct horse battery", {
        salt,
        timeCost: 2,
        memoryCost: small ? 256 : 16384,
        parallelism: 4,
        hashLength: 32
      }).encoded
  }
}
