/**
 * The entries of a cache, looked at from outside: what is there, whether it is whole, and taking it away.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { decodeBundle } from "./bundle.ts"
import { entriesIn, historiesIn } from "./cache.ts"
import { hexadecimal } from "./checksum.ts"
import { entryFacts } from "./entry.ts"
import { Histories } from "./history.ts"
import { original } from "./original.ts"
import type { PreparationSummary } from "./preparation.ts"

/**
 * What an entry says of its module.
 *
 * @category models
 * @since 0.1.0
 */
export interface EntryContent {
  /** Checksum of the module, in hexadecimal digits. */
  readonly module: string
  readonly moduleBytes: number
  readonly summary: PreparationSummary
  /** False where the module runs natively. */
  readonly patched: boolean
}

/**
 * A file of a cache.
 *
 * @category models
 * @since 0.1.0
 */
export interface StoredEntry {
  readonly file: string
  readonly bytes: number
  /** When it was used last, in milliseconds of the clock of the day. */
  readonly used: number
  /** What made it; `undefined` where the name is not one of an entry. */
  readonly build: string | undefined
  readonly v8: string | undefined
  readonly rung: string | undefined
  /** Whether this build and this V8 can use it. */
  readonly usable: boolean
  /** Moment (ms since 1970) until which its module is left as it is, because its loops gained nothing; 0: it is not. */
  readonly pausedUntil: number
  /** `undefined` where it is damaged. */
  readonly content: EntryContent | undefined
  /** What is wrong with it; `undefined`: nothing. */
  readonly damage: string | undefined
}

/** `<fingerprint>-<build>-<V8>-<rung>`; only the build's version and V8's may have a hyphen. */
const nameOf = /^[0-9a-f]{16}-(.+)-(\d+(?:\.\d+){3}(?:-[\w.]+)?)-([\w.+-]+?)$/

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** What an entry holds. Throws where it cannot be used as it is. */
const contentOf = (bytes: Uint8Array, build: string | undefined): EntryContent => {
  const { length, patched, sum, summary } = entryFacts(bytes)
  if (patched !== undefined) {
    const { bundle, module } = patched
    const decoded = build === undefined ? undefined : decodeBundle(module.subarray(bundle), build)
    if (decoded === undefined) throw new RangeError("its bundle is of another build")
    for (const emitted of [module, decoded.guard, ...decoded.chunks]) {
      if (!original.validate(emitted as Uint8Array<ArrayBuffer>)) {
        throw new RangeError("the engine refuses a module of it")
      }
    }
  }
  return {
    module: hexadecimal(sum),
    moduleBytes: length,
    summary: JSON.parse(summary) as PreparationSummary,
    patched: patched !== undefined
  }
}

const readEntry = (file: string, presentBuild: string, histories: Histories): StoredEntry | undefined => {
  const statistics = Fs.statSync(file, { throwIfNoEntry: false })
  if (statistics === undefined || !statistics.isFile()) return undefined
  const [, build, v8, rung] = nameOf.exec(Path.basename(file)) ?? []
  const usable = build === presentBuild && v8 === process.versions.v8
  const pausedUntil = histories.read(Path.basename(file))?.until ?? 0
  const known = { file, bytes: statistics.size, used: statistics.mtimeMs, build, v8, rung, usable, pausedUntil }
  try {
    return { ...known, content: contentOf(Fs.readFileSync(file), build), damage: undefined }
  } catch (error) {
    return { ...known, content: undefined, damage: messageOf(error) }
  }
}

/**
 * All entries of a cache, those used last first. Every byte of each is compared with its sum, bundles are
 * read, and the engine judges the modules in them. A directory that is not there has none; throws what else the file
 * system throws.
 *
 * @param directory of the cache
 * @param build the present one
 * @category reading
 * @since 0.1.0
 */
export const readEntries = (directory: string, build: string): ReadonlyArray<StoredEntry> => {
  const folder = entriesIn(directory)
  if (!Fs.existsSync(folder)) return []
  const histories = new Histories(historiesIn(directory))
  return Fs.readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => readEntry(Path.join(folder, name), build, histories) ?? [])
    .sort((left, right) => right.used - left.used)
}

/**
 * Removes entries, and what was learnt of their modules. Throws what the file system throws.
 *
 * @category writing
 * @since 0.1.0
 */
export const removeEntries = (entries: ReadonlyArray<StoredEntry>): void => {
  for (const { file } of entries) {
    Fs.rmSync(file, { force: true })
    // `v1` and `history` lie side by side.
    Fs.rmSync(Path.join(historiesIn(Path.dirname(Path.dirname(file))), Path.basename(file)), { force: true })
  }
}
