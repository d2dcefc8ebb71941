// What the harnesses share: where the packages are, and inputs that are the same bytes on every machine.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..")
export const NM = path.join(ROOT, "node_modules")
export const require = createRequire(path.join(ROOT, "package.json"))
export const file = (name) => readFileSync(path.join(NM, name))
export const url = (name) => pathToFileURL(path.join(NM, name)).href
export const load = (name) => import(url(name))
export const tenc = new TextEncoder()
export const tdec = new TextDecoder()

// xorshift32
export const rng = (seed = 0x12345678) => {
  let state = seed | 0
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

export const bytes = (length, seed) => {
  const next = rng(seed)
  const out = new Uint8Array(length)
  for (let at = 0; at + 4 <= length; at += 4) {
    const word = next()
    out[at] = word
    out[at + 1] = word >>> 8
    out[at + 2] = word >>> 16
    out[at + 3] = word >>> 24
  }
  return out
}

// English-like text: words drawn with a skewed distribution, so that compressors have work to do.
export const text = (length, seed) => {
  const next = rng(seed)
  const words = Array.from({ length: 4000 }, () => {
    let word = ""
    for (let letters = 2 + next() % 9; letters > 0; letters--) word += String.fromCharCode(97 + (next() % 26))
    return word
  })
  const parts = []
  for (let total = 0; total < length; total += parts.at(-1).length) {
    const chosen = words[Math.floor(4000 * ((next() / 2 ** 32) ** 3))]
    parts.push(chosen + (next() % 12 === 0 ? ".\n" : " "))
  }
  return parts.join("").slice(0, length)
}

// Smooth gradients, a disc and a little noise, RGBA.
export const image = (width, height, seed) => {
  const next = rng(seed)
  const out = new Uint8ClampedArray(width * height * 4)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      const noise = next() & 7
      const inside = (x - width / 2) ** 2 + (y - height / 2) ** 2 < (height / 3) ** 2 ? 80 : 0
      out[at] = (x * 255 / width) + inside + noise
      out[at + 1] = (y * 255 / height) + noise
      out[at + 2] = ((x ^ y) & 63) + inside
      out[at + 3] = 255
    }
  }
  return out
}
