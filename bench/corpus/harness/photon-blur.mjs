import { image, require } from "../lib/util.mjs"
export default {
  name: "photon-blur",
  pkg: "@silvia-odwyer/photon-node",
  what: "gaussian blur r=3 then box sharpen of 1024x768 (Rust, wasm-bindgen)",
  async setup({ small }) {
    const p = require("@silvia-odwyer/photon-node")
    const w = small ? 96 : 1024, h = small ? 72 : 768, src = new Uint8Array(image(w, h, 11))
    return () => {
      const im = new p.PhotonImage(src, w, h)
      p.gaussian_blur(im, 3)
      p.sharpen(im)
      const o = im.get_raw_pixels()
      im.free()
      return o
    }
  }
}
