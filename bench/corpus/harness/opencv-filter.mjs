import { image, require } from "../lib/util.mjs"
export default {
  name: "opencv-filter",
  pkg: "opencv-wasm",
  what: "OpenCV 4.3 bilateralFilter + matchTemplate + dilate on 640x480 (C++)",
  async setup({ small }) {
    const { cv } = require("opencv-wasm")
    const w = small ? 48 : 640, h = small ? 32 : 480, im = image(w, h, 50)
    return () => {
      const a = cv.matFromImageData({ data: im, width: w, height: h }),
        b = new cv.Mat(),
        c = new cv.Mat(),
        d = new cv.Mat(),
        k = cv.Mat.ones(7, 7, cv.CV_8U)
      cv.cvtColor(a, b, cv.COLOR_RGBA2RGB)
      cv.bilateralFilter(b, c, 9, 60, 60, cv.BORDER_DEFAULT)
      cv.dilate(c, d, k)
      const t = d.roi(new cv.Rect(8, 8, 16, 16)), r = new cv.Mat()
      cv.matchTemplate(d, t, r, cv.TM_CCOEFF_NORMED)
      const o = Buffer.concat([Buffer.from(d.data), Buffer.from(new Uint8Array(r.data32F.slice().buffer))])
      ;[a, b, c, d, k, t, r].forEach((x) => x.delete())
      return o
    }
  }
}
