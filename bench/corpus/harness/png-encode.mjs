import { file, image, load } from "../lib/util.mjs"
export default {
  name: "png-encode",
  pkg: "@jsquash/png",
  what: "PNG encode 768x576 (Rust image-png)",
  async setup({ small }) {
    const m = await load("@jsquash/png/codec/pkg/squoosh_png.js")
    await m.default(await WebAssembly.compile(file("@jsquash/png/codec/pkg/squoosh_png_bg.wasm")))
    const w = small ? 96 : 768, h = small ? 64 : 576, src = new Uint8Array(image(w, h, 17))
    return () => m.encode(src, w, h, 8)
  }
}
