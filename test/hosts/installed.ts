/**
 * The packages of `test/hosts`, where they are installed: a browser is no part of a fresh machine's `npm test`.
 */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

/** Where a package has a file; undefined where it is not installed. */
export const installed = (name: string, file = "package.json"): string | undefined => {
  const path = join(import.meta.dirname, "node_modules", name, file)
  return existsSync(path) ? path : undefined
}

/** Whether a host is there; says so where it is not. */
export const present = (host: string, ...files: ReadonlyArray<string | undefined>): boolean => {
  const all = files.every((file) => file !== undefined)
  if (!all) console.info(`${host} is not installed, its tests are left out: npm run test:hosts installs and runs them`)
  return all
}

const require = createRequire(import.meta.url)

/** Loads a package. */
export const load = async <A>(name: string): Promise<A> => await import(require.resolve(name)) as A
