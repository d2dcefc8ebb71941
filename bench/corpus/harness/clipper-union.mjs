import { file, load, rng } from "../lib/util.mjs"
export default {
  name: "clipper-union",
  pkg: "clipper2-wasm",
  what: "union of two random self-crossing 500-vertex polygons (C++, embind)",
  async setup({ small }) {
    const C = await (await load("clipper2-wasm/dist/es/clipper2z.js")).default({
      wasmBinary: file("clipper2-wasm/dist/es/clipper2z.wasm")
    })
    const r = rng(41), n = small ? 12 : 500
    const mk = () => {
      const a = []
      for (let i = 0; i < n; i++) a.push(r() % 10000, r() % 10000)
      return a
    }
    const A = mk(), B = mk()
    const paths = (a) => {
      const P = new C.Paths64(), p = new C.Path64()
      for (let i = 0; i < a.length; i += 2) p.push_back(new C.Point64(BigInt(a[i]), BigInt(a[i + 1]), 0n))
      P.push_back(p)
      return P
    }
    return () => {
      const s = C.Union64(paths(A), paths(B), C.FillRule.NonZero)
      let h = 0n
      const k = s.size()
      for (let i = 0; i < k; i++) {
        const p = s.get(i), m = p.size()
        for (let j = 0; j < m; j++) {
          const q = p.get(j)
          h = (h * 31n + q.x * 7n + q.y) & 0xffffffffffffn
        }
      }
      return `${k}:${h}`
    }
  }
}
