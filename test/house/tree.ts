/**
 * The repository as the tests of the house read it: its files and what they import.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, posix, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"

/** The repository's folder. */
export const root = fileURLToPath(new URL("../..", import.meta.url))

const generated = new Set(["node_modules", "dist", ".git", "coverage", "test-results.json"])

/** Every file below a folder of the repository, as paths with `/` from the root, in order. */
export const filesUnder = (folder: string): ReadonlyArray<string> => {
  const start = join(root, folder)
  if (!existsSync(start)) return []
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => !path.split("/").some((part) => generated.has(part)))
    .sort()
}

/** A file's text. */
export const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** The parsed JSON of a file. */
export const readJson = <A>(path: string): A => JSON.parse(read(path)) as A

/** One import or re-export: where it points, whether only types cross it, and whether it waits until it is reached. */
export interface Import {
  readonly specifier: string
  readonly typeOnly: boolean
  readonly dynamic: boolean
}

const statement = /^[ \t]*(import|export)\b([^"'`;]*?\bfrom)?[ \t]*["']([^"']+)["']/gm
const call = /\bimport\(\s*["']([^"']+)["']\s*\)/g

/** A source text without its block comments and its lines that are comments only. */
const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "")

/** The imports of a TypeScript text, as written: the statements in their order, then the calls. */
export const importsIn = (source: string): ReadonlyArray<Import> => {
  const text = withoutComments(source)
  const found: Array<Import> = []
  for (const match of text.matchAll(statement)) {
    const clause = match[2] ?? ""
    if (match[1] === "export" && clause === "") continue
    found.push({ specifier: match[3] as string, typeOnly: /^\s*type\b(?!\s*,|\s+from\b)/.test(clause), dynamic: false })
  }
  for (const match of text.matchAll(call)) found.push({ specifier: match[1] as string, typeOnly: false, dynamic: true })
  return found
}

/** The imports of a file. */
export const importsOf = (path: string): ReadonlyArray<Import> => importsIn(read(path))

/** Where a relative specifier of a file points, from the root. */
export const resolveFrom = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier)

/** Every file that loading a file loads before its first statement runs, itself first, and the packages they name. */
export const staticGraph = (entry: string): { files: ReadonlyArray<string>; packages: ReadonlyArray<string> } => {
  const files = new Set<string>()
  const packages = new Set<string>()
  const waiting = [entry]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue
    files.add(path)
    for (const { dynamic, specifier, typeOnly } of importsOf(path)) {
      if (dynamic || typeOnly) continue
      if (specifier.startsWith(".")) waiting.push(resolveFrom(path, specifier))
      else packages.add(specifier)
    }
  }
  return { files: [...files], packages: [...packages].sort() }
}

/** The folder that a path of the tree is in. */
export const folderOf = (path: string): string => dirname(path).split("/")[0] as string
