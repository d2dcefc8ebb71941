// multimath's unsharp mask on a photograph-sized image, through the package's own entry and glue.
import { MultiMath, unsharp_mask_plugin } from "multimath"

const width = 2048
const height = 1536

const picture = () => {
  const pixels = new Uint8Array(width * height * 4)
  let noise = 10
  for (let at = 0; at < pixels.length; at += 4) {
    noise ^= noise << 13
    noise ^= noise >>> 17
    noise ^= noise << 5
    const x = (at >> 2) % width
    const y = (at >> 2) / width | 0
    const disc = (x - width / 2) ** 2 + (y - height / 2) ** 2 < (height / 3) ** 2 ? 80 : 0
    pixels[at] = x * 160 / width + disc + (noise & 7)
    pixels[at + 1] = y * 160 / height + disc
    pixels[at + 2] = ((x ^ y) & 63) + disc
    pixels[at + 3] = 255
  }
  return pixels
}

export default {
  name: "unsharp",
  pkg: "multimath",
  what: `sharpens an image of ${width} × ${height} pixels`,
  async setup() {
    const math = new MultiMath({ js: false, wasm: true }).use(unsharp_mask_plugin)
    await math.init()
    const source = picture()
    return () => {
      const pixels = source.slice()
      math.unsharp_mask(pixels, width, height, 120, 2, 3)
      return pixels
    }
  }
}
