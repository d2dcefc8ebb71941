/**
 * Why an image cannot be made, read or used.
 *
 * @since 0.1.0
 */

/**
 * What does not fit:
 *
 * - about the file: `unreadable`, `truncated`, `malformed`, `version`, `corrupt` (bytes differ from their hash)
 * - about what it is for: `module` (made from another module), `fingerprint`, `invalidated` (the host says so)
 * - about the target: `no-memory`, `maximum` (larger than the memory or table may become), `larger` (the target is larger
 *   than the image already), `import` (an immutable imported global has another value), `baked`
 * - about what cannot be held: `hidden` (not exported), `shared`, `page-size`, `reference`, `table` (a slot holds a
 *   function of another instance), `segment`, `global`, `start`, `live-state`, `handle`
 * - about the replay: `renewal` and `handle` (no hook for what the image asks for), `replay` (a hook's own objection)
 *
 * @category errors
 * @since 0.1.0
 */
export type MismatchCode =
  | "unreadable"
  | "truncated"
  | "malformed"
  | "version"
  | "corrupt"
  | "module"
  | "fingerprint"
  | "invalidated"
  | "no-memory"
  | "maximum"
  | "larger"
  | "import"
  | "baked"
  | "hidden"
  | "shared"
  | "page-size"
  | "reference"
  | "table"
  | "segment"
  | "global"
  | "start"
  | "live-state"
  | "handle"
  | "renewal"
  | "replay"

/**
 * A plain error, so that images work without any framework.
 *
 * @category errors
 * @since 0.1.0
 */
export class Mismatch extends Error {
  readonly code: MismatchCode
  /** Where: a page, a slot, a global, an offset in the file. */
  readonly place: string
  readonly detail: string
  /** What the reader can do next. */
  readonly remedy: string

  constructor(code: MismatchCode, place: string, detail: string, remedy: string) {
    super(`${place}: ${detail}. ${remedy}`)
    this.name = "Mismatch"
    this.code = code
    this.place = place
    this.detail = detail
    this.remedy = remedy
  }
}
