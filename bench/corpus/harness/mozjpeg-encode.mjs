import { file, image, load } from "../lib/util.mjs"
export default {
  name: "mozjpeg-encode",
  pkg: "@jsquash/jpeg",
  what: "MozJPEG encode 1024x768 q75 (C++, Emscripten/embind)",
  async setup({ small }) {
    globalThis.ImageData ??= class {
      constructor(d, w, h) {
        this.data = d
        this.width = w
        this.height = h
      }
    }
    const m = await load("@jsquash/jpeg/encode.js")
    await m.init(await WebAssembly.compile(file("@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm")))
    const w = small ? 96 : 1024, h = small ? 64 : 768, d = { data: image(w, h, 14), width: w, height: h }
    return () => m.default(d, { quality: 75 })
  }
}
