import { load, rng } from "../lib/util.mjs"
export default {
  name: "hnsw-build",
  pkg: "hnswlib-wasm",
  what: "HNSW index of 1,500 x 64-d vectors and 200 queries (C++, embind)",
  async setup({ small }) {
    globalThis.window ??= { addEventListener() {}, location: { href: "x" } }
    globalThis.document ??= { currentScript: null }
    const { loadHnswlib } = await load("hnswlib-wasm/dist/hnswlib.js")
    const l = await loadHnswlib()
    const n = small ? 60 : 1500,
      r = rng(40),
      v = Array.from({ length: n }, () => Float32Array.from({ length: 64 }, () => (r() >>> 8) / 2 ** 24))
    return () => {
      const ix = new l.HierarchicalNSW("l2", 64, "")
      ix.initIndex(n, 16, 100, 100)
      ix.addPoints(v, [...v.keys()], false)
      ix.setEfSearch(32)
      const o = []
      for (let i = 0; i < (small ? 10 : 200); i++) o.push(...ix.searchKnn(v[(i * 7) % n], 5, undefined).neighbors)
      ix.delete?.()
      return Int32Array.from(o)
    }
  }
}
