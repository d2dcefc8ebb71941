/**
 * Opening an image from its file as plain code, for programs that must start fast: what {@link openImageFile} does, with
 * the comparison and the hooks of the contract of `src/image/replay.ts`. Nothing of Effect is loaded.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../../src/binary/module.ts"
import type { ApplyOptions } from "../../src/image/apply.ts"
import { checkFingerprint, checkHooks, type ReplayHooks, runHooks } from "../../src/image/replay.ts"
import { type OpenedFile, openImageFile } from "./image-file.ts"

/**
 * How an image is opened.
 *
 * @category options
 * @since 0.1.0
 */
export interface OpenImageFileOptions extends ApplyOptions {
  /** SHA-256 of the original module in hex; undefined: not compared, and the caller knows that it is the right one. */
  readonly module?: string | undefined
  /** Refuses an image that was made for another one; undefined: any will do. */
  readonly fingerprint?: string | undefined
  readonly hooks?: ReplayHooks | undefined
  /** Take the pages as they are, without comparing their hashes: they are then read when they are first touched. */
  readonly trusted?: boolean | undefined
}

/**
 * Opens the image in a file: compares what it was made for, maps its pages into an instance, and runs the hooks. `m` is
 * the decoded module, and the instance one of what `instrument` makes of it. Throws a `Mismatch`, and the error of the
 * system where the file cannot be read.
 *
 * ```ts
 * const m = decodeModule(readFileSync("tool.wasm"))
 * const { exports } = new WebAssembly.Instance(new WebAssembly.Module(instrument(m)), imports)
 * openImage(m, exports, "tool.folio", { fingerprint: "v3", fresh: true, trusted: true })
 * ```
 *
 * @category opening
 * @since 0.1.0
 */
export const openImage = (
  m: WasmModule,
  exports: WebAssembly.Exports,
  place: URL | string,
  options: OpenImageFileOptions = {}
): OpenedFile => {
  const { fingerprint, hooks = {}, module } = options
  const opened = openImageFile(m, exports, place, options, (image) => {
    checkFingerprint(image, { module: module ?? image.module, fingerprint })
    checkHooks(image, hooks)
  })
  runHooks(exports, opened.image, hooks)
  return opened
}
