/**
 * The FILE of a command: a module, its text, or `-` for stdin.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { readFile } from "node:fs/promises"
import { basename } from "node:path"
import { buffer } from "node:stream/consumers"
import { ModuleInvalid } from "../../services/Errors.ts"

/**
 * A module that a command works on.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModuleFile {
  readonly name: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** What assembled it, when it was text. */
  readonly assembler: string | undefined
}

/** binaryen throws objects that have a message and are no errors. */
const messageOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "message" in cause ? String(cause.message) : String(cause)

const isBinary = (bytes: Uint8Array): boolean =>
  bytes[0] === 0x00 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d

/** Text of a module begins with a parenthesis, behind white space and comments. */
const isText = (file: string, bytes: Uint8Array): boolean =>
  /\.wa[st]$/i.test(file) || /^(?:\s|;;[^\n]*\n|\(;[^]*?;\))*\(/.test(new TextDecoder().decode(bytes.subarray(0, 4096)))

/** binaryen reads the whole text format and takes 300 ms to load, so it is loaded for text only. */
const assemble = (name: string, bytes: Uint8Array): Effect.Effect<ModuleFile, ModuleInvalid> =>
  Effect.tryPromise({
    try: async () => {
      const { default: binaryen } = await import("binaryen")
      const text = new TextDecoder().decode(bytes)
      const module = binaryen.parseText(text)
      try {
        return { name, bytes: new Uint8Array(module.emitBinary()), assembler: "binaryen" }
      } finally {
        module.dispose()
      }
    },
    catch: (cause) =>
      new ModuleInvalid({ source: name, reason: "malformed", detail: `text: ${messageOf(cause)}`, cause })
  })

/**
 * Reads and, where it is text, assembles the module.
 *
 * @category input
 * @since 0.1.0
 */
export const readModule = (file: string): Effect.Effect<ModuleFile, ModuleInvalid> => {
  const name = file === "-" ? "stdin" : basename(file)
  return Effect.tryPromise({
    try: () => file === "-" ? buffer(process.stdin) : readFile(file),
    catch: (cause) => new ModuleInvalid({ source: file, reason: "unreadable", detail: messageOf(cause), cause })
  }).pipe(
    Effect.map((read) => new Uint8Array(read)),
    Effect.flatMap((bytes) =>
      !isBinary(bytes) && isText(file, bytes)
        ? assemble(name, bytes)
        : Effect.succeed({ name, bytes, assembler: undefined })
    )
  )
}
