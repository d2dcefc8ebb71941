/**
 * The cache gives back exactly what was put in, or nothing.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { pruneEntries } from "../../../layers/node/cache-store.ts"
import { cacheDirectory, fingerprint, PatchCache } from "../../../layers/node/cache.ts"
import { encodeEntry } from "../../../layers/node/entry.ts"
import { commonRuns } from "../../../layers/node/patch.ts"

const root = mkdtempSync(join(tmpdir(), "folio-cache-"))
afterAll(() => rmSync(root, { force: true, recursive: true }))
let folders = 0
const folder = (): string => join(root, String(++folders))

const options = { build: "0.1.0+test", rung: "alias" }
const input = new Uint8Array(50_000).map((_, index) => index * 31 >> 3)
const output = new Uint8Array([...input.subarray(0, 20_000), 1, 2, 3, ...input.subarray(20_000)])
const bundle = output.length - 3
const patched = encodeEntry(
  input,
  { summary: `{"planned":1}`, patched: { module: output, bundle } },
  commonRuns(input, output)
)
const nothing = { summary: `{"planned":0}`, patched: undefined }
const native = encodeEntry(input, nothing)
const nativeOf = (module: Uint8Array, summary = nothing.summary): Uint8Array =>
  encodeEntry(module, { ...nothing, summary })

/** A module of this length that is unlike every other number's. */
const numbered = (number: number): Uint8Array => new Uint8Array(100).fill(number)

describe("a cache", () => {
  it("knows nothing at first", () => {
    const cache = new PatchCache(folder(), options)
    assert.deepStrictEqual(cache.lookup(input), { _tag: "miss" })
    assert.isUndefined(cache.reason)
  })

  it("gives back a patched module", () => {
    const directory = folder()
    assert.isTrue(new PatchCache(directory, options).store(input, patched))
    const found = new PatchCache(directory, options).lookup(input)
    assert.strictEqual(found._tag, "found")
    if (found._tag !== "found") return
    assert.deepStrictEqual(new Uint8Array(found.entry.patched?.module ?? []), output)
    assert.strictEqual(found.entry.patched?.bundle, bundle)
    assert.strictEqual(found.entry.summary, `{"planned":1}`)
  })

  it("gives back that there is nothing to patch, in a small file", () => {
    const directory = folder()
    const cache = new PatchCache(directory, options)
    cache.store(input, native)
    const found = cache.lookup(input)
    assert.deepStrictEqual(found._tag === "found" ? found.entry : undefined, nothing)
    assert.isBelow(statSync(cache.fileOf(input)).size, 200)
  })

  it("overwrites, and leaves nothing unfinished behind", () => {
    const directory = folder()
    const cache = new PatchCache(directory, options)
    cache.store(input, native)
    cache.store(input, patched)
    assert.deepStrictEqual(readdirSync(join(directory, "v1")).length, 1)
    const found = cache.lookup(input)
    assert.isDefined(found._tag === "found" ? found.entry.patched : undefined)
  })

  it("keeps builds, rungs and modules apart", () => {
    const directory = folder()
    const cache = new PatchCache(directory, options)
    cache.store(input, patched)
    assert.strictEqual(new PatchCache(directory, { ...options, build: "0.2.0" }).lookup(input)._tag, "miss")
    assert.strictEqual(new PatchCache(directory, { ...options, rung: "shared-fixed" }).lookup(input)._tag, "miss")
    assert.strictEqual(cache.lookup(input.subarray(1))._tag, "miss")
  })

  it("patches no other module, even one with the same samples", () => {
    const cache = new PatchCache(folder(), options)
    cache.store(input, patched)
    let same = 0
    for (let at = 0; at < input.length; at += 97) {
      const other = input.slice()
      other[at] ^= 1
      if (fingerprint(other) === fingerprint(input)) same++
      assert.strictEqual(cache.lookup(other)._tag, "miss")
    }
    assert.isAbove(same, 0)
  })

  it("notices damage of every byte, removes the file and goes on", () => {
    const cache = new PatchCache(folder(), options)
    const small = input.subarray(0, 300)
    const module = new Uint8Array([...small.subarray(0, 200), 1, 2, 3, ...small.subarray(220)])
    cache.store(
      small,
      encodeEntry(small, { summary: "{}", patched: { module, bundle: 200 } }, commonRuns(small, module))
    )
    const file = cache.fileOf(small)
    const whole = readFileSync(file)
    for (let at = 0; at < whole.length; at++) {
      const damaged = new Uint8Array(whole)
      damaged[at] ^= 0x10
      writeFileSync(file, damaged)
      const found = cache.lookup(small)
      assert.strictEqual(found._tag, "damaged", `byte ${at}`)
      assert.isFalse(existsSync(file))
      assert.strictEqual(cache.lookup(small)._tag, "miss")
    }
    for (const length of [0, 3, 36, 100, whole.length - 1]) {
      writeFileSync(file, whole)
      truncateSync(file, length)
      assert.strictEqual(cache.lookup(small)._tag, "damaged", `${length} bytes`)
    }
  })

  it("removes what was not used for longest", () => {
    const directory = folder()
    const cache = new PatchCache(directory, { ...options, maximumEntries: 8 })
    for (let number = 0; number < 8; number++) {
      cache.store(numbered(number), nativeOf(numbered(number)))
      utimesSync(cache.fileOf(numbered(number)), 1000 + number, 1000 + number)
    }
    cache.lookup(numbered(0))
    cache.store(numbered(8), nativeOf(numbered(8)))
    const kept = Array.from({ length: 9 }, (_, number) => number).filter((number) =>
      existsSync(cache.fileOf(numbered(number)))
    )
    assert.deepStrictEqual(kept, [0, 4, 5, 6, 7, 8])
  })

  it("holds no more bytes than it may", () => {
    const directory = folder()
    const cache = new PatchCache(directory, { ...options, maximumBytes: 10_000 })
    for (let number = 0; number < 12; number++) {
      cache.store(numbered(number), nativeOf(numbered(number), "x".repeat(3000)))
    }
    const sizes = readdirSync(join(directory, "v1")).map((name) => statSync(join(directory, "v1", name)).size)
    assert.isAtMost(sizes.reduce((sum, size) => sum + size, 0), 10_000)
    assert.strictEqual(cache.lookup(numbered(11))._tag, "found")
  })

  it("removes what somebody left unfinished long ago", () => {
    const directory = folder()
    const cache = new PatchCache(directory, options)
    cache.store(input, native)
    const [old, fresh] = [".1.old", ".1.new"].map((name) => join(directory, "v1", name))
    for (const file of [old, fresh]) writeFileSync(file, "")
    utimesSync(old, 1000, 1000)
    pruneEntries(join(directory, "v1"), { bytes: 1e9, entries: 100 })
    assert.deepStrictEqual([existsSync(old), existsSync(fresh)], [false, true])
  })

  it("is the user's own", () => {
    const directory = folder()
    const cache = new PatchCache(directory, options)
    cache.store(input, native)
    assert.strictEqual(statSync(join(directory, "v1")).mode & 0o777, 0o700)
    assert.strictEqual(statSync(cache.fileOf(input)).mode & 0o777, 0o600)
  })

  it("does without a directory that cannot be one", () => {
    const file = join(root, "a-file")
    writeFileSync(file, "")
    const cache = new PatchCache(file, options)
    assert.strictEqual(cache.lookup(input)._tag, "miss")
    assert.isFalse(cache.store(input, native))
    assert.match(cache.reason ?? "", /ENOTDIR|EEXIST/)
  })

  // The super-user may write everywhere.
  it.skipIf(process.getuid?.() === 0)("reads a directory that cannot be written to", () => {
    const directory = folder()
    mkdirSync(directory)
    const cache = new PatchCache(directory, options)
    cache.store(input, patched)
    chmodSync(join(directory, "v1"), 0o500)
    assert.isFalse(cache.store(numbered(1), native))
    assert.strictEqual(cache.lookup(input)._tag, "found")
    chmodSync(join(directory, "v1"), 0o700)
  })
})

describe("the directory", () => {
  it("is the one asked for, else below the user's cache", () => {
    const home = homedir()
    const rows: ReadonlyArray<readonly [string | undefined, Record<string, string>, string | undefined]> = [
      ["off", {}, undefined],
      ["/a/b", { XDG_CACHE_HOME: "/x" }, "/a/b"],
      ["here", {}, join(process.cwd(), "here")],
      [undefined, { XDG_CACHE_HOME: "/x" }, "/x/folio"],
      [undefined, { XDG_CACHE_HOME: "relative" }, join(home, ".cache/folio")],
      [undefined, {}, join(home, ".cache/folio")]
    ]
    for (const [setting, environment, expected] of rows) {
      assert.strictEqual(cacheDirectory(setting, environment), expected)
    }
  })
})
