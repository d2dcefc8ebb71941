import { load, rng } from "../lib/util.mjs"
export default {
  name: "meshopt-simplify",
  pkg: "meshoptimizer",
  what: "simplify a 180x180 height-field to 15% of its triangles (C++, wasi-style)",
  async setup({ small }) {
    const { MeshoptSimplifier: S } = await load("meshoptimizer/meshopt_simplifier.js")
    await S.ready
    const n = small ? 16 : 180, r = rng(34), v = new Float32Array(n * n * 3), f = new Uint32Array((n - 1) * (n - 1) * 6)
    for (let y = 0, p = 0; y < n; y++) {
      for (let x = 0; x < n; x++) {
        v[p++] = x
        v[p++] = y
        v[p++] = 4 * Math.fround(Math.sin(x * .1) * Math.cos(y * .13)) + (r() & 255) / 2048
      }
    }
    for (let y = 0, p = 0; y < n - 1; y++) {
      for (let x = 0; x < n - 1; x++) {
        const i = y * n + x
        f.set([i, i + 1, i + n, i + 1, i + n + 1, i + n], p)
        p += 6
      }
    }
    return () => S.simplify(f, v, 3, Math.floor(f.length * .15 / 3) * 3, 1)[0]
  }
}
