/**
 * Patched modules kept for the next start: one file a module in one directory, `v1/<fingerprint>-<build>-<V8>-<rung>`.
 *
 * The fingerprint is over the length and samples of the bytes, so that a module without an entry, or with one that says
 * that nothing is to be done, is not read as a whole; before a patched module is used all of the original is compared.
 *
 * Files are written under another name and renamed, so a reader sees all or nothing. Whatever the directory refuses
 * (reading, writing, space) the program goes on without it. Entries are code that will run: a directory that others
 * can write to is not a place for them, and the directories made here are the user's own.
 *
 * @since 0.1.0
 */
import type * as Store from "./cache-store.ts"
import { checksum, hexadecimal } from "./checksum.ts"
import { type CacheEntry, decodeEntry } from "./entry.ts"
import { requireModule } from "./require.ts"

// Asked for, not imported: the module of `node:fs` that `import` makes loads what nobody here needs.
const Fs = process.getBuiltinModule("node:fs")
const Os = process.getBuiltinModule("node:os")
const Path = process.getBuiltinModule("node:path")

/**
 * How much a cache holds where nothing else is asked for: 256 MiB in 4,096 entries.
 *
 * @category constants
 * @since 0.1.0
 */
export const CACHE_LIMITS: Store.StoreLimits = { bytes: 256 * 1024 * 1024, entries: 4096 }

/** Bytes up to which a fingerprint is over the whole module. */
const sampledFrom = 8192
const sampleBytes = 128
const samples = 48

/**
 * Outcome of a look-up. `found`: the entry, and the bytes that it is a view of. `damaged`: the entry cannot be
 * used and has been removed.
 *
 * @category models
 * @since 0.1.0
 */
export type Lookup =
  | { readonly _tag: "miss" }
  | { readonly _tag: "found"; readonly entry: CacheEntry; readonly bytes: Uint8Array }
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
  /** Bytes of all entries; default: {@link CACHE_LIMITS}. */
  readonly maximumBytes?: number
  /** Number of entries; default: {@link CACHE_LIMITS}. */
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
 * Where the entries of a cache lie.
 *
 * @category locations
 * @since 0.1.0
 */
export const entriesIn = (directory: string): string => Path.join(directory, "v1")

/**
 * Where a cache keeps what was learnt (`history.ts`).
 *
 * @category locations
 * @since 0.1.0
 */
export const historiesIn = (directory: string): string => Path.join(directory, "history")

/**
 * Length and samples of a module, summed: sixteen hexadecimal digits. All of a module that is not large.
 *
 * @category identity
 * @since 0.1.0
 */
export const fingerprint = (bytes: Uint8Array): string => hexadecimal(checksum(samplesOf(bytes), BigInt(bytes.length)))

const samplesOf = function*(bytes: Uint8Array): Generator<Uint8Array> {
  if (bytes.length <= sampledFrom) {
    yield bytes
    return
  }
  const step = (bytes.length - sampleBytes) / (samples - 1)
  for (let sample = 0; sample < samples; sample++) {
    const at = Math.floor(sample * step)
    yield bytes.subarray(at, at + sampleBytes)
  }
}

/**
 * A directory of patches.
 *
 * @category models
 * @since 0.1.0
 */
export class PatchCache {
  readonly #directory: string
  readonly #histories: string
  readonly #suffix: string
  readonly #limits: Store.StoreLimits
  #reason: string | undefined

  constructor(directory: string, { build, maximumBytes, maximumEntries, rung }: CacheOptions) {
    this.#directory = entriesIn(directory)
    this.#histories = historiesIn(directory)
    this.#suffix = [build, process.versions.v8, rung].map((part) => part.replace(/[^\w.+-]/g, "_")).join("-")
    this.#limits = { bytes: maximumBytes ?? CACHE_LIMITS.bytes, entries: maximumEntries ?? CACHE_LIMITS.entries }
  }

  /** Why the directory could not be used last; `undefined` while nothing was refused. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Name of the entry of a module with this fingerprint. */
  nameOf(print: string): string {
    return `${print}-${this.#suffix}`
  }

  /** The file of a module; `print` is its fingerprint where it is known already. */
  fileOf(bytes: Uint8Array, print: string = fingerprint(bytes)): string {
    return Path.join(this.#directory, this.nameOf(print))
  }

  /** What is known of a module; `print` is its fingerprint where it is known already. */
  lookup(bytes: Uint8Array, print?: string): Lookup {
    const file = this.fileOf(bytes, print)
    let content: Uint8Array
    try {
      content = Fs.readFileSync(file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#note(error)
      return { _tag: "miss" }
    }
    try {
      const entry = decodeEntry(content, bytes)
      if (entry === undefined) return { _tag: "miss" }
      this.#touch(file)
      return { _tag: "found", entry, bytes: content }
    } catch (error) {
      this.#attempt(() => Fs.rmSync(file, { force: true }))
      return { _tag: "damaged", file, reason: error instanceof Error ? error.message : String(error) }
    }
  }

  /** Keeps what is known of a module; false where the directory refuses. */
  store(bytes: Uint8Array, entry: Uint8Array): boolean {
    const { storeEntry } = requireModule<typeof Store>("./cache-store")
    return this.#attempt(() => storeEntry(this.#directory, this.#histories, this.fileOf(bytes), entry, this.#limits))
  }

  /** Forgets the module with a fingerprint. */
  remove(print: string): void {
    this.#attempt(() => Fs.rmSync(Path.join(this.#directory, this.nameOf(print)), { force: true }))
  }

  /** The modification time tells when an entry was used last. */
  #touch(file: string): void {
    const now = new Date()
    this.#attempt(() => Fs.utimesSync(file, now, now))
  }

  #attempt(run: () => void): boolean {
    try {
      run()
      return true
    } catch (error) {
      this.#note(error)
      return false
    }
  }

  #note(error: unknown): void {
    this.#reason = error instanceof Error ? error.message : String(error)
  }
}
