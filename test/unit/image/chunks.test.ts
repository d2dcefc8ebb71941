import { assert, describe, it } from "@effect/vitest"
import { decodeModule } from "../../../src/binary/module.ts"
import { capture } from "../../../src/image/capture.ts"
import {
  chunkImage,
  chunkName,
  INDEX_NAME,
  loadChunks,
  loadIndex,
  MODULE_NAME,
  openChunks
} from "../../../src/image/chunks.ts"
import { encodeImage } from "../../../src/image/format.ts"
import { instrument } from "../../../src/image/instrument.ts"
import type { Mismatch } from "../../../src/image/mismatch.ts"
import { staticGraph } from "../../house/tree.ts"
import { assemble } from "../../support/wat.ts"
import { booted, bytesOf, decoded, type Exports, instantiate, observe, options } from "./program.ts"

const large = decodeModule(
  await assemble(`(module (memory (export "memory") 200 300) (global (mut i32) (i32.const 1)))`)
)

/** An instance whose every second page is written: 100 pages, two files. */
const filled = (): Exports => {
  const exports = instantiate(instrument(large))
  const words = new Uint32Array((exports["memory"] as unknown as WebAssembly.Memory).buffer)
  for (let at = 0; at < words.length; at += 16) if (at * 4 % 131_072 < 65_536) words[at] = Math.imul(at, 0x9e3779b9) | 1
  return exports
}

const serve = (files: ReadonlyMap<string, Uint8Array>) => async (name: string): Promise<Uint8Array> => {
  const file = files.get(name)
  if (file === undefined) throw new Error(`404 ${name}`)
  return file
}

describe("a chunked image", () => {
  it("is files of at most 4 MiB and the index, the same bytes as the image's file", () => {
    const image = capture(large, filled(), options)
    const files = chunkImage(image)
    assert.deepStrictEqual([...files.keys()], [INDEX_NAME, "image.000", "image.001"])
    assert.strictEqual(files.get("image.000")!.length, 4 * 1024 * 1024)
    assert.isTrue(Buffer.concat([...files.values()]).equals(encodeImage(image)))
  })

  it("is loaded straight into memory, each file as it arrives, in whatever order", async () => {
    const source = filled()
    const files = chunkImage(capture(large, source, options))
    const order: Array<string> = []
    const waiting = new Map<string, () => void>()
    const fetchFile = async (name: string) => {
      if (name !== INDEX_NAME) {
        await new Promise<void>((resolve) => {
          waiting.set(name, resolve)
          // The second file arrives first: both must be in flight.
          if (waiting.size === 2) {
            waiting.get("image.001")!()
            setImmediate(waiting.get("image.000")!)
          }
        })
      }
      order.push(name)
      return serve(files)(name)
    }
    const target = instantiate(instrument(large))
    await loadChunks(large, target, await loadIndex(fetchFile), fetchFile, { inFlight: 2 })
    assert.deepStrictEqual(order, [INDEX_NAME, "image.001", "image.000"])
    assert.isTrue(bytesOf(target).equals(bytesOf(source)))
  })

  it("has no more files in flight than told", async () => {
    const files = chunkImage(capture(large, filled(), options))
    let [now, most] = [0, 0]
    const fetchFile = async (name: string) => {
      most = Math.max(most, ++now)
      await new Promise(setImmediate)
      now--
      return serve(files)(name)
    }
    const index = await loadIndex(fetchFile)
    await loadChunks(large, instantiate(instrument(large)), index, fetchFile, { inFlight: 1 })
    assert.strictEqual(most, 1)
    await loadChunks(large, instantiate(instrument(large)), index, fetchFile, { inFlight: 9 })
    assert.strictEqual(most, 2)
  })

  it("carries the whole state", async () => {
    const { exports, image } = booted()
    const fetchFile = serve(chunkImage(image))
    const target = instantiate(instrument(decoded), { host: { now: () => 0 } })
    await loadChunks(decoded, target, await loadIndex(fetchFile), fetchFile)
    assert.isTrue(bytesOf(target).equals(bytesOf(exports)))
    assert.deepStrictEqual(observe(target), observe(exports))
  })

  it("opens with its own module alone, behind what it was made for and what it asks for", async () => {
    const { exports, image } = booted()
    const asking = { ...image, fingerprint: "v1", renew: ["seed"] }
    const files = new Map<string, Uint8Array>(chunkImage(asking, decoded))
    const bytes = new Uint8Array(files.get(MODULE_NAME)!)
    const renewed: Array<string> = []
    const open = async (fetchFile = serve(files), more: Parameters<typeof openChunks>[3] = {}) => {
      const target = instantiate(bytes, { host: { now: () => 0 } })
      const hooks = { renewed: { seed: (_: unknown, name: string) => void renewed.push(name) } }
      await openChunks(decodeModule(bytes), target, fetchFile, { fingerprint: "v1", hooks, ...more })
      return target
    }
    const target = await open()
    assert.deepStrictEqual(renewed, ["seed"])
    assert.isTrue(bytesOf(target).equals(bytesOf(exports)))
    assert.deepStrictEqual(observe(target), observe(exports))

    const refused = (opening: Promise<unknown>): Promise<string> =>
      opening.then(() => "opened", (error: Mismatch) => error.code)
    // An index of another deployment, whose module has the same shape.
    const other = serve(new Map([...files, ...chunkImage({ ...asking, module: "b".repeat(64) })]))
    assert.strictEqual(await refused(open(other)), "module")
    assert.strictEqual(await refused(open(serve(files), { module: "b".repeat(64) })), "module")
    assert.strictEqual(await refused(open(serve(files), { fingerprint: "v2" })), "fingerprint")
    assert.strictEqual(await refused(open(serve(files), { hooks: {} })), "renewal")
    assert.deepStrictEqual(renewed, ["seed"])
  })

  it("is loaded by code that needs nothing of Node.js", () => {
    const { files, packages } = staticGraph("programs/entry/bake.ts")
    assert.include(files, "src/image/chunks.ts")
    assert.deepStrictEqual(files.filter((path) => path.startsWith("layers/node/")), [])
    assert.deepStrictEqual(packages.filter((name) => !name.startsWith("effect/")), [])
  })

  it("refuses a file that is short, one whose page has another hash, and passes a failed fetch on", async () => {
    const files = chunkImage(capture(large, filled(), options))
    const load = async (name: string, bytes: Uint8Array | undefined): Promise<Mismatch> => {
      const changed = new Map<string, Uint8Array>(files)
      if (bytes === undefined) changed.delete(name)
      else changed.set(name, bytes)
      const fetchFile = serve(changed)
      try {
        await loadChunks(large, instantiate(instrument(large)), await loadIndex(fetchFile), fetchFile)
      } catch (error) {
        return error as Mismatch
      }
      return assert.fail("nothing was refused")
    }
    const second = files.get(chunkName(1))!
    assert.deepInclude(await load(chunkName(1), second.subarray(1)), { code: "truncated", place: "image.001" })
    const flipped = second.slice()
    flipped[70_000] ^= 4
    assert.deepInclude(await load(chunkName(1), flipped), {
      code: "corrupt",
      place: "image.001, page 130 of memory 0"
    })
    assert.strictEqual((await load(chunkName(0), undefined)).message, "404 image.000")
    assert.strictEqual((await load(INDEX_NAME, files.get(INDEX_NAME)!.subarray(0, 50))).code, "truncated")
  })
})
