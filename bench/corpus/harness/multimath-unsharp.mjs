import { image, load } from "../lib/util.mjs"
export default {
  name: "multimath-unsharp",
  pkg: "multimath",
  what: "unsharp mask of a 2048x1536 RGBA image (C, -nostdlib, imported memory)",
  async setup({ small }) {
    const { MultiMath, unsharp_mask_plugin } = await load("multimath/lib/index.mjs")
    const mm = new MultiMath({ js: false, wasm: true }).use(unsharp_mask_plugin)
    await mm.init()
    const w = small ? 128 : 2048, h = small ? 96 : 1536, src = image(w, h, 10)
    return () => {
      const b = new Uint8Array(src)
      mm.unsharp_mask(b, w, h, 120, 2, 3)
      return b
    }
  }
}
