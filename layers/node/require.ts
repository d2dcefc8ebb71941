/**
 * Loads modules of this house at the moment they are needed, synchronously: `new WebAssembly.Module` cannot wait.
 *
 * @since 0.1.0
 */
import { createRequire } from "node:module"

/** TypeScript in the repository, JavaScript in the published package. */
const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."))
const require = createRequire(import.meta.url)

/**
 * Loads a module.
 *
 * @param path relative to this folder, without the extension
 * @category loading
 * @since 0.1.0
 */
export const requireModule = <A>(path: string): A => require(`${path}${extension}`) as A

/**
 * The URL of a module.
 *
 * @param path relative to this folder, without the extension
 * @category loading
 * @since 0.1.0
 */
export const moduleUrl = (path: string): URL => new URL(`${path}${extension}`, import.meta.url)
