import { bytes, load } from "../lib/util.mjs"
export default {
  name: "as-sha256",
  pkg: "@chainsafe/as-sha256",
  what: "20,000 x SHA-256 of 64 B in SIMD batches of 4 (AssemblyScript)",
  async setup({ small }) {
    const m = await load("@chainsafe/as-sha256/lib/index.js")
    const n = small ? 400 : 20000
    const b = bytes(64 * n, 7)
    const out = new Uint8Array(32 * n)
    const ins = Array.from({ length: n }, (_, i) => b.subarray(i * 64, i * 64 + 64))
    return () => {
      for (let i = 0; i < n; i += 4) {
        const r = m.batchHash4UintArray64s
          ? m.batchHash4UintArray64s(ins.slice(i, i + 4))
          : ins.slice(i, i + 4).map((x) => m.digest64(x))
        for (let j = 0; j < 4; j++) out.set(r[j], (i + j) * 32)
      }
      return out
    }
  }
}
