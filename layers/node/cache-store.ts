/**
 * Writing into the cache, and keeping it within its bounds. Not loaded where everything is found.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import * as Path from "node:path"

/** Milliseconds after which a file of somebody else's unfinished writing is removed. */
const abandoned = 3_600_000

/** What is left of the bounds when something has to go, so that it need not go each time. */
const share = 0.75

/**
 * How much a directory may hold.
 *
 * @category models
 * @since 0.1.0
 */
export interface StoreLimits {
  readonly bytes: number
  readonly entries: number
}

/**
 * Writes an entry and removes others where there are too many. Throws what the file system throws; nothing unfinished
 * is left behind then.
 *
 * @category writing
 * @since 0.1.0
 */
export const storeEntry = (
  directory: string,
  histories: string,
  file: string,
  entry: Uint8Array,
  limits: StoreLimits
): void => {
  const unfinished = Path.join(directory, `.${process.pid}.${Math.random().toString(36).slice(2)}`)
  Fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  try {
    Fs.writeFileSync(unfinished, entry, { flag: "wx", mode: 0o600 })
    Fs.renameSync(unfinished, file)
  } catch (error) {
    Fs.rmSync(unfinished, { force: true })
    throw error
  }
  pruneEntries(directory, limits)
  if (Fs.existsSync(histories)) pruneEntries(histories, limits)
}

/**
 * Why nothing can be written into a directory; `undefined`: it can be. Makes the directory where it is missing.
 *
 * @category queries
 * @since 0.1.0
 */
export const writeRefusal = (directory: string): string | undefined => {
  try {
    Fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
    Fs.accessSync(directory, Fs.constants.W_OK)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * Removes what was not used for longest until the rest is well within the bounds, and what somebody left unfinished.
 *
 * @category writing
 * @since 0.1.0
 */
export const pruneEntries = (directory: string, limits: StoreLimits): void => {
  const kept: Array<{ readonly file: string; readonly size: number; readonly used: number }> = []
  for (const name of Fs.readdirSync(directory)) {
    const file = Path.join(directory, name)
    const statistics = Fs.statSync(file, { throwIfNoEntry: false })
    if (statistics === undefined) continue
    const used = statistics.mtimeMs
    if (!name.startsWith(".")) kept.push({ file, size: statistics.size, used })
    else if (Date.now() - used > abandoned) Fs.rmSync(file, { force: true })
  }
  let bytes = kept.reduce((sum, { size }) => sum + size, 0)
  let entries = kept.length
  if (bytes <= limits.bytes && entries <= limits.entries) return
  kept.sort((left, right) => left.used - right.used)
  for (const { file, size } of kept) {
    if (bytes <= limits.bytes * share && entries <= limits.entries * share) return
    Fs.rmSync(file, { force: true })
    bytes -= size
    entries--
  }
}
