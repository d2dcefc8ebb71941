import { file, load, rng } from "../lib/util.mjs"
export default {
  name: "resvg-render",
  pkg: "@resvg/resvg-wasm",
  what: "render a 400-shape SVG with gradients and a blur at 800x600 (Rust)",
  async setup({ small }) {
    const m = await load("@resvg/resvg-wasm/index.mjs")
    await m.initWasm(await WebAssembly.compile(file("@resvg/resvg-wasm/index_bg.wasm")))
    const r = rng(19), q = (n) => r() % n
    let s =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"600\"><defs><linearGradient id=\"g\"><stop offset=\"0\" stop-color=\"#f00\"/><stop offset=\"1\" stop-color=\"#00f\"/></linearGradient><filter id=\"b\"><feGaussianBlur stdDeviation=\"6\"/></filter></defs>"
    for (let i = 0; i < (small ? 20 : 400); i++) {
      s += `<path d="M${q(800)} ${q(600)}C${q(800)} ${q(600)} ${q(800)} ${q(600)} ${q(800)} ${q(600)}Z" fill="${
        i % 3 ? "#" + (0x100000 + q(0xefffff)).toString(16) : "url(#g)"
      }" fill-opacity=".6" stroke="#000" stroke-width="2"/>`
    }
    s += "<circle cx=\"400\" cy=\"300\" r=\"180\" fill=\"#0a0\" filter=\"url(#b)\"/></svg>"
    return () => {
      const v = new m.Resvg(s, small ? { fitTo: { mode: "width", value: 120 } } : {})
      const im = v.render()
      const p = im.pixels.slice()
      im.free()
      v.free()
      return p
    }
  }
}
