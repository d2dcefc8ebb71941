import { load, rng } from "../lib/util.mjs"
export default {
  name: "pffft-1m",
  pkg: "@echogarden/pffft-wasm",
  what: "complex f32 FFT of 2^20 points, forward + backward, unordered (C, SIMD, plain ABI)",
  async setup({ small }) {
    const P = await (await load("@echogarden/pffft-wasm/dist/simd/pffft.js")).default()
    const n = small ? 1 << 10 : 1 << 20
    const s = P._pffft_new_setup(n, 1),
      a = P._pffft_aligned_malloc(n * 8),
      b = P._pffft_aligned_malloc(n * 8),
      w = P._pffft_aligned_malloc(n * 8)
    const r = rng(25), src = Float32Array.from({ length: 2 * n }, () => (r() >>> 8) / 2 ** 24 - .5)
    return () => {
      P.HEAPF32.set(src, a >> 2)
      P._pffft_transform(s, a, b, w, 0)
      P._pffft_transform(s, b, a, w, 1)
      return new Uint8Array(P.HEAPF32.slice(a >> 2, (a >> 2) + 2 * n).buffer)
    }
  }
}
