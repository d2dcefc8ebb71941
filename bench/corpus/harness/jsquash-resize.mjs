import { file, image, load } from "../lib/util.mjs"
export default {
  name: "jsquash-resize",
  pkg: "@jsquash/resize",
  what: "Lanczos3 1600x1200 -> 700x525, linear RGB (Rust, wasm-bindgen)",
  async setup({ small }) {
    const m = await load("@jsquash/resize/lib/resize/pkg/squoosh_resize.js")
    await m.default(await WebAssembly.compile(file("@jsquash/resize/lib/resize/pkg/squoosh_resize_bg.wasm")))
    const w = small ? 160 : 1600, h = small ? 120 : 1200, src = new Uint8Array(image(w, h, 12))
    return () => m.resize(src, w, h, small ? 70 : 700, small ? 52 : 525, 3, true, true)
  }
}
