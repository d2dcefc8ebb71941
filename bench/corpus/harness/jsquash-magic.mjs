import { file, image, load } from "../lib/util.mjs"
globalThis.ImageData ??= class {
  constructor(d, w, h) {
    this.data = d
    this.width = w
    this.height = h
  }
}
export default {
  name: "jsquash-magic",
  pkg: "@jsquash/resize",
  what: "magic-kernel resize 1600x1200 -> 700x525 (Rust)",
  async setup({ small }) {
    const m = await load("@jsquash/resize/lib/magic-kernel/pkg/jsquash_magic_kernel.js")
    await m.default(
      await WebAssembly.compile(file("@jsquash/resize/lib/magic-kernel/pkg/jsquash_magic_kernel_bg.wasm"))
    )
    const w = small ? 160 : 1600, h = small ? 120 : 1200, src = new Uint8Array(image(w, h, 12))
    return () => m.resize(src, w, h, small ? 70 : 700, small ? 52 : 525, "magicKernelSharp2021").data
  }
}
