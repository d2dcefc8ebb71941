/**
 * Files of images that commands read and write, and the errors of images as the end of a command.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { mkdir, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Baking, type ImageModule } from "../../services/Baking.ts"
import type { InstantiateError } from "../../services/Baking.ts"
import type { ModuleInvalid } from "../../services/Errors.ts"
import { ImageMismatch } from "../../services/ImageErrors.ts"
import type { Image } from "../../src/image/model.ts"
import { readModule } from "./file.ts"
import { CommandFailed, ExitCode, failedWith } from "./outcome.ts"
import { during } from "./progress.ts"

/**
 * An error of images as the end of a command.
 *
 * @category errors
 * @since 0.1.0
 */
export const imageFailed = (error: ImageMismatch | ModuleInvalid | InstantiateError | CommandFailed): CommandFailed => {
  if (error instanceof CommandFailed) return error
  if (!(error instanceof ImageMismatch)) return failedWith(error)
  const { code, detail, message, place, remedy, source } = error
  const exit = code === "unreadable" ? ExitCode.failed : ExitCode.refused
  return new CommandFailed({ exit, tag: "ImageMismatch", message, fields: { source, code, place, detail, remedy } })
}

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/**
 * A step that touches files. What it fails with ends the command.
 *
 * @category output
 * @since 0.1.0
 */
export const onFiles = <A>(what: string, work: () => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.tryPromise({
    try: work,
    catch: (cause) =>
      new CommandFailed({ exit: ExitCode.failed, tag: "FileFailed", message: `${what}: ${messageOf(cause)}` })
  })

/**
 * Writes a file under another name and renames it into place: whoever has the old one open, or mapped, keeps it.
 *
 * @category output
 * @since 0.1.0
 */
export const writeInPlace = (file: string, data: Uint8Array | string): Effect.Effect<void, CommandFailed> =>
  onFiles(file, async () => {
    await mkdir(dirname(file), { recursive: true })
    const temporary = `${file}.${process.pid}.tmp`
    try {
      await writeFile(temporary, data)
      await rename(temporary, file)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  })

/**
 * Writes files into a folder.
 *
 * @category output
 * @since 0.1.0
 */
export const writeFolder = (
  folder: string,
  files: ReadonlyMap<string, Uint8Array>
): Effect.Effect<void, CommandFailed> =>
  Effect.forEach(files, ([name, bytes]) => writeInPlace(join(folder, name), bytes), { discard: true })

/**
 * The FILE of a command as a module that images are made of.
 *
 * @category input
 * @since 0.1.0
 */
export const readImageModule = (
  file: string
): Effect.Effect<ImageModule, ModuleInvalid | ImageMismatch, Baking> =>
  Effect.gen(function*() {
    const baking = yield* Baking
    const { bytes, name } = yield* readModule(file)
    return yield* during(`${name}: compiling`, baking.prepare(bytes, name))
  })

/**
 * The image in a file.
 *
 * @category input
 * @since 0.1.0
 */
export const readImage = (file: string): Effect.Effect<Image, ImageMismatch, Baking> =>
  Effect.flatMap(Baking, ({ read }) => during(`${file}: reading and checking`, read(file)))

/** Bytes in words. @category formatting @since 0.1.0 */
export const sizeOf = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 ** 2
    ? `${(bytes / 1024).toFixed(1)} KiB`
    : `${(bytes / 1024 ** 2).toFixed(1)} MiB`
