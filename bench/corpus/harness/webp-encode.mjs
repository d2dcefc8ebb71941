import { file, image, load } from "../lib/util.mjs"
export default {
  name: "webp-encode",
  pkg: "@jsquash/webp",
  what: "libwebp encode 768x576 q75 method 4 (C, SIMD build)",
  async setup({ small }) {
    globalThis.ImageData ??= class {
      constructor(d, w, h) {
        this.data = d
        this.width = w
        this.height = h
      }
    }
    const enc = (await load("@jsquash/webp/codec/enc/webp_enc_simd.js")).default
    const { defaultOptions } = await load("@jsquash/webp/meta.js")
    const mod = await enc({
      noInitialRun: true,
      wasmBinary: file("@jsquash/webp/codec/enc/webp_enc_simd.wasm"),
      instantiateWasm(i, cb) {
        WebAssembly.instantiate(file("@jsquash/webp/codec/enc/webp_enc_simd.wasm"), i).then((r) =>
          cb(r.instance, r.module)
        )
        return {}
      }
    })
    const w = small ? 96 : 768, h = small ? 64 : 576, d = image(w, h, 15)
    return () => mod.encode(d, w, h, { ...defaultOptions, quality: 75 }).slice()
  }
}
