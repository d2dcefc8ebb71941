/**
 * Patches kept for the next start: one file a module in one directory.
 *
 * ```text
 * name   v1/<fingerprint of the module>-<build>-<V8>-<rung>
 * file   magic:u32 digest:byte{32} body          digest: SHA-256 of the body
 * body   input:u32 sha256:byte{32} summary:blob length:u32 [patch:blob bundle:blob]
 * ```
 *
 * `length` is that of the patched module, 0 where there is nothing to patch: then a start need not analyse the module
 * again. The fingerprint is over samples of the bytes, so that a module without an entry, or with one that says that
 * nothing is to be done, is not hashed as a whole; before a patch is applied the module's SHA-256 is compared.
 *
 * Files are written under another name and renamed, so a reader sees all or nothing. Whatever the directory refuses
 * (reading, writing, space) the program goes on without it. Entries are code that will run: a directory that others
 * can write to is not a place for them, and the directories made here are the user's own.
 *
 * @since 0.1.0
 */
import { createHash, hash } from "node:crypto"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { ByteReader } from "../../src/binary/reader.ts"
import { ByteWriter } from "../../src/binary/writer.ts"
import { readBlob, writeBlob } from "./bundle.ts"
import { applyPatch } from "./patch.ts"

/** "FOLC" in little-endian bytes. */
const magic = 0x434c4f46
const digestBytes = 32

/** Bytes up to which a fingerprint is over the whole module. */
const sampledFrom = 32768
const sampleBytes = 256
const samples = 96

/** Milliseconds after which a file of somebody else's unfinished writing is removed. */
const abandoned = 3_600_000

/**
 * What is known of a module.
 *
 * @category models
 * @since 0.1.0
 */
export interface CacheEntry {
  /** Facts for the report, as JSON. */
  readonly summary: string
  /** `undefined`: there is nothing to patch. */
  readonly patch: { readonly patch: Uint8Array; readonly length: number; readonly bundle: Uint8Array } | undefined
}

/**
 * Outcome of a look-up. `found`: the entry, and the patched module where there is one. `damaged`: the entry cannot be
 * used and has been removed.
 *
 * @category models
 * @since 0.1.0
 */
export type Lookup =
  | { readonly _tag: "miss" }
  | { readonly _tag: "found"; readonly entry: CacheEntry; readonly module: Uint8Array<ArrayBuffer> | undefined }
  | { readonly _tag: "damaged"; readonly file: string; readonly reason: string }

/**
 * What a cache is for, and how much it may hold.
 *
 * @category models
 * @since 0.1.0
 */
export interface CacheOptions {
  readonly build: string
  readonly rung: string
  /** Bytes of all entries (256 MiB). */
  readonly maximumBytes?: number
  /** Number of entries (4,096). */
  readonly maximumEntries?: number
}

/**
 * The directory that the environment asks for; `undefined`: none.
 *
 * @param setting a directory, `off`, or `undefined` for `$XDG_CACHE_HOME/folio` or `~/.cache/folio`
 * @category locations
 * @since 0.1.0
 */
export const cacheDirectory = (
  setting: string | undefined,
  environment: Readonly<Record<string, string | undefined>>
): string | undefined => {
  if (setting === "off") return undefined
  if (setting !== undefined) return Path.resolve(setting)
  const base = environment["XDG_CACHE_HOME"]
  // The base directory specification: a relative path is to be ignored.
  if (base !== undefined && Path.isAbsolute(base)) return Path.join(base, "folio")
  const home = Os.homedir()
  return home === "" ? undefined : Path.join(home, ".cache", "folio")
}

/**
 * Length and samples of a module, hashed: 128 bits in hexadecimal digits.
 *
 * @category identity
 * @since 0.1.0
 */
export const fingerprint = (bytes: Uint8Array): string => {
  const sum = createHash("sha256").update(`${bytes.length}:`)
  if (bytes.length <= sampledFrom) sum.update(bytes)
  else {
    const step = (bytes.length - sampleBytes) / (samples - 1)
    for (let sample = 0; sample < samples; sample++) {
      const at = Math.floor(sample * step)
      sum.update(bytes.subarray(at, at + sampleBytes))
    }
  }
  return sum.digest("hex").slice(0, 32)
}

/**
 * SHA-256 as bytes.
 *
 * @category identity
 * @since 0.1.0
 */
export const sha256 = (bytes: Uint8Array): Uint8Array => hash("sha256", bytes, "buffer")

const sameBytes = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0

/**
 * A directory of patches.
 *
 * @category models
 * @since 0.1.0
 */
export class PatchCache {
  readonly #directory: string
  readonly #suffix: string
  readonly #maximumBytes: number
  readonly #maximumEntries: number
  #reason: string | undefined

  constructor(directory: string, { build, maximumBytes, maximumEntries, rung }: CacheOptions) {
    this.#directory = Path.join(directory, "v1")
    this.#suffix = [build, process.versions.v8, rung].map((part) => part.replace(/[^\w.+-]/g, "_")).join("-")
    this.#maximumBytes = maximumBytes ?? 256 * 1024 * 1024
    this.#maximumEntries = maximumEntries ?? 4096
  }

  /** Why the directory could not be used last; `undefined` while nothing was refused. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** The file of a module. */
  fileOf(bytes: Uint8Array): string {
    return Path.join(this.#directory, `${fingerprint(bytes)}-${this.#suffix}`)
  }

  /** What is known of a module. */
  lookup(bytes: Uint8Array): Lookup {
    const file = this.fileOf(bytes)
    let content: Uint8Array
    try {
      content = Fs.readFileSync(file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#note(error)
      return { _tag: "miss" }
    }
    try {
      const found = readEntry(content, bytes)
      this.#touch(file)
      return found
    } catch (error) {
      this.#remove(file)
      return { _tag: "damaged", file, reason: error instanceof Error ? error.message : String(error) }
    }
  }

  /** Keeps what is known of a module; false where the directory refuses. */
  store(bytes: Uint8Array, entry: CacheEntry): boolean {
    const file = this.fileOf(bytes)
    const unfinished = Path.join(this.#directory, `.${process.pid}.${Math.random().toString(36).slice(2)}`)
    try {
      Fs.mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      Fs.writeFileSync(unfinished, writeEntry(bytes, entry), { flag: "wx", mode: 0o600 })
      Fs.renameSync(unfinished, file)
      this.prune()
      return true
    } catch (error) {
      this.#note(error)
      this.#remove(unfinished)
      return false
    }
  }

  /** Removes what was not used for longest until the rest is within three quarters of the bounds. */
  prune(): void {
    const kept: Array<{ readonly file: string; readonly size: number; readonly used: number }> = []
    for (const name of Fs.readdirSync(this.#directory)) {
      const file = Path.join(this.#directory, name)
      const statistics = Fs.statSync(file, { throwIfNoEntry: false })
      if (statistics === undefined) continue
      const used = statistics.mtimeMs
      if (!name.startsWith(".")) kept.push({ file, size: statistics.size, used })
      else if (Date.now() - used > abandoned) this.#remove(file)
    }
    let bytes = kept.reduce((sum, { size }) => sum + size, 0)
    if (bytes <= this.#maximumBytes && kept.length <= this.#maximumEntries) return
    kept.sort((left, right) => left.used - right.used)
    let entries = kept.length
    for (const { file, size } of kept) {
      if (bytes <= this.#maximumBytes * 0.75 && entries <= this.#maximumEntries * 0.75) return
      this.#remove(file)
      bytes -= size
      entries--
    }
  }

  /** The modification time tells when an entry was used last. */
  #touch(file: string): void {
    try {
      const now = new Date()
      Fs.utimesSync(file, now, now)
    } catch (error) {
      this.#note(error)
    }
  }

  #remove(file: string): void {
    try {
      Fs.rmSync(file, { force: true })
    } catch (error) {
      this.#note(error)
    }
  }

  #note(error: unknown): void {
    this.#reason = error instanceof Error ? error.message : String(error)
  }
}

const writeEntry = (bytes: Uint8Array, { patch, summary }: CacheEntry): Uint8Array => {
  const body = new ByteWriter().fixed32(bytes.length).bytes(sha256(bytes))
  writeBlob(body, new TextEncoder().encode(summary)).u32(patch?.length ?? 0)
  if (patch !== undefined) writeBlob(writeBlob(body, patch.patch), patch.bundle)
  const content = body.finish()
  return new ByteWriter().fixed32(magic).bytes(sha256(content)).bytes(content).finish()
}

/** Throws where the content is not exactly what {@link writeEntry} wrote. */
const readEntry = (content: Uint8Array, bytes: Uint8Array): Lookup => {
  const outer = new ByteReader(content, 0, content.length)
  if (outer.fixed32() !== magic) outer.fail("not a cache entry", 0)
  const digest = outer.skip(digestBytes)
  const body = content.subarray(outer.position)
  if (!sameBytes(sha256(body), content.subarray(digest, digest + digestBytes))) outer.fail("its digest differs", digest)
  const reader = new ByteReader(body, 0, body.length)
  const inputLength = reader.fixed32()
  const input = reader.skip(digestBytes)
  const summary = new TextDecoder().decode(readBlob(reader))
  const length = reader.u32()
  if (inputLength !== bytes.length) return { _tag: "miss" }
  if (length === 0) return { _tag: "found", entry: { summary, patch: undefined }, module: undefined }
  if (!sameBytes(sha256(bytes), body.subarray(input, input + digestBytes))) return { _tag: "miss" }
  const patch = readBlob(reader)
  const entry = { summary, patch: { patch, length, bundle: readBlob(reader) } }
  return { _tag: "found", entry, module: applyPatch(bytes, patch, length) }
}
