/**
 * Hashes of the sources behind a figure, so that a result can be tied to the code that gave it.
 */
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { dirname, relative, resolve } from "node:path"

/**
 * The root of the project.
 *
 * @category paths
 * @since 0.1.0
 */
export const root = resolve(import.meta.dirname, "../..")

const relativeImport = /(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+\.(?:ts|mjs|js))"/g
const fileUrl = /new URL\(\s*"(\.{1,2}\/[^"]+)"\s*,\s*import\.meta\.url\s*\)/g

/** The files that one file names, by import or as `new URL("…", import.meta.url)`. */
const references = (file: string): Array<string> => {
  if (!/\.(?:ts|mjs|js)$/.test(file)) return []
  const text = readFileSync(file, "utf8")
  return [...text.matchAll(relativeImport), ...text.matchAll(fileUrl)]
    .map((match) => resolve(dirname(file), match[1]!))
    .filter((path) => /\.\w+$/.test(path) && existsSync(path))
}

/**
 * sha256 of `entry` and of everything in the project that it reaches, keyed by path from the root, in order of path.
 *
 * @category hashing
 * @since 0.1.0
 */
export const sourceHashes = (entry: string): Record<string, string> => {
  const seen = new Set<string>()
  const pending = [resolve(entry)]
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    pending.push(...references(file))
  }
  return Object.fromEntries(
    [...seen].sort().map((file) => [
      relative(root, file).replaceAll("\\", "/"),
      createHash("sha256").update(readFileSync(file)).digest("hex")
    ])
  )
}
