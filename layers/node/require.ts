/**
 * Loads modules of this house at the moment they are needed, synchronously: `new WebAssembly.Module` cannot wait.
 * For Node.js 22 and later, which can require ES modules.
 *
 * @since 0.1.0
 */
/** TypeScript in the repository, JavaScript in the published package. */
const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."))
let require: NodeJS.Require | undefined

/**
 * Loads a module.
 *
 * @param path relative to this folder, without the extension
 * @category loading
 * @since 0.1.0
 */
export const requireModule = <A>(path: string): A => {
  require ??= process.getBuiltinModule("node:module").createRequire(import.meta.url)
  return require(`${path}${extension}`) as A
}

/**
 * The URL of a module.
 *
 * @param path relative to this folder, without the extension
 * @category loading
 * @since 0.1.0
 */
export const moduleUrl = (path: string): URL => new URL(`${path}${extension}`, import.meta.url)
