/**
 * The committed kernels are what their manifest says, their catalogue describes each of them, and the ciphers and the
 * hash are those of their standards.
 */
import { assert, describe, it } from "@effect/vitest"
import { createCipheriv, createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { kernelModules } from "../../../bench/fixtures/kernels/catalogue.ts"
import manifest from "../../../bench/fixtures/kernels/manifest.json" with { type: "json" }

const directory = join(import.meta.dirname, "../../../bench/fixtures/kernels")
const read = (name: string) => readFileSync(join(directory, name))
const sha256 = (name: string) => createHash("sha256").update(read(name)).digest("hex")

describe("kernels", () => {
  for (const [module, entry] of Object.entries(manifest.modules)) {
    it(`${module} and its source are those of the manifest`, () => {
      assert.strictEqual(sha256(module), entry.sha256)
      assert.strictEqual(sha256(entry.source), entry.sourceSha256)
    })
  }

  for (const { file: module, kernels } of kernelModules) {
    it(`${module} exports what the catalogue describes`, () => {
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(read(`${module}.wasm`)))
      const functions = Object.entries(exports).filter(([, value]) => typeof value === "function")
      assert.sameMembers(functions.map(([name]) => name), kernels.map(({ name }) => name))
      for (const { arguments: parameters, name } of kernels) {
        assert.strictEqual((exports[name] as () => void).length, parameters.length, name)
      }
    })
  }
})

/** An instance with bytes at chosen places behind its own data. */
const placed = (module: string) => {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(read(`${module}.wasm`)))
  let at = 1 << 20
  return {
    call: (name: string, ...args: ReadonlyArray<number>): void =>
      (exports[name] as (...args: Array<number>) => void)(...args),
    bytes: (address: number, length: number): Buffer =>
      Buffer.from((exports["memory"] as WebAssembly.Memory).buffer, address, length),
    place: (bytes: Uint8Array): number => {
      new Uint8Array((exports["memory"] as WebAssembly.Memory).buffer).set(bytes, at)
      return (at += 4096) - 4096
    }
  }
}

const counted = (length: number, factor = 7): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (at * factor) & 255))
const bigEndian = (words: ReadonlyArray<number>): Buffer => Buffer.from(Uint32Array.from(words).buffer)
const wordsOf = (bytes: Buffer): Array<number> =>
  Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readUInt32BE(4 * at))

/** SubBytes of AES by its definition: the inverse in GF(2⁸), then an affine map. */
const substitute = (() => {
  const product = (x: number, y: number): number => {
    let sum = 0
    for (; y > 0; y >>= 1, x = (x << 1) ^ (x & 0x80 ? 0x11b : 0)) if (y & 1) sum ^= x
    return sum
  }
  const turned = (x: number, by: number): number => ((x << by) | (x >> (8 - by))) & 255
  return Array.from({ length: 256 }, (_, x) => {
    let inverse = 0
    for (let y = 1; y < 256 && inverse === 0; y++) if (product(x, y) === 1) inverse = y
    return [1, 2, 3, 4].reduce((sum, by) => sum ^ turned(inverse, by), inverse) ^ 0x63
  })
})()

const aesTable = substitute.map((s) => {
  const twice = (s << 1) ^ (s & 0x80 ? 0x11b : 0)
  return ((twice << 24) | (s << 16) | (s << 8) | (twice ^ s)) >>> 0
})

/** Eleven round keys. */
const expanded = (key: Buffer): Array<number> => {
  const words = wordsOf(key)
  let constant = 1
  for (let at = 4; at < 44; at++) {
    let word = words[at - 1]
    if (at % 4 === 0) {
      const bytes = [word >>> 16, word >>> 8, word, word >>> 24].map((byte) => substitute[byte & 255])
      word = (((bytes[0] ^ constant) << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3]) >>> 0
      constant = (constant << 1) ^ (constant & 0x80 ? 0x11b : 0)
    }
    words.push((words[at - 4] ^ word) >>> 0)
  }
  return words
}

/** First 32 bits of the fractions of the cube roots of the first 64 primes. */
const sha256Constants = (() => {
  const primes: Array<number> = []
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes.map((prime) => {
    // The integer cube root of prime · 2⁹⁶, by bisection.
    let [low, high] = [0n, 1n << 36n]
    while (high - low > 1n) {
      const middle = (low + high) >> 1n
      if (middle ** 3n <= BigInt(prime) << 96n) low = middle
      else high = middle
    }
    return Number(low & 0xffffffffn)
  })
})()

for (const module of ["work-o2", "work-o3", "work-simd"]) {
  describe(`${module}`, () => {
    const message = counted(640, 11)

    it("chacha is ChaCha20", () => {
      const { bytes, call, place } = placed(module)
      const [key, nonce] = [counted(32), counted(12, 3)]
      const out = place(Buffer.alloc(640))
      call("chacha", out, place(message), place(key), place(nonce), 7, 10)
      const cipher = createCipheriv("chacha20", key, Buffer.concat([Buffer.from([7, 0, 0, 0]), nonce]))
      assert.strictEqual(bytes(out, 640).toString("hex"), cipher.update(message).toString("hex"))
    })

    it("aes is AES-128 in counter mode", () => {
      const { bytes, call, place } = placed(module)
      const [key, iv] = [counted(16), counted(16, 3)]
      const out = place(Buffer.alloc(640))
      const tables = [expanded(key), aesTable, wordsOf(iv)].map((words) => place(bigEndian(words)))
      call("aes", out, place(bigEndian(wordsOf(message))), ...tables, 0, 40)
      const cipher = createCipheriv("aes-128-ctr", key, iv)
      assert.strictEqual(bigEndian(wordsOf(bytes(out, 640))).toString("hex"), cipher.update(message).toString("hex"))
    })

    it("sha256 is SHA-256 of one block", () => {
      const { bytes, call, place } = placed(module)
      const text = counted(55)
      const block = Buffer.concat([text, Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 0, 0])])
      block.writeUInt32BE(8 * text.length, 60)
      const out = place(Buffer.alloc(64))
      const rows = place(bigEndian([...wordsOf(block), ...wordsOf(block)]))
      call("sha256", out, rows, place(bigEndian(sha256Constants)), 2)
      const digest = createHash("sha256").update(text).digest("hex")
      for (const row of [0, 32]) assert.strictEqual(bigEndian(wordsOf(bytes(out + row, 32))).toString("hex"), digest)
    })
  })
}
