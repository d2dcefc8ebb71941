/**
 * The error of images.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type { Mismatch, MismatchCode } from "../src/image/mismatch.ts"

/**
 * An image cannot be made, read or used: what does not fit (`code`), where, and what to do next.
 *
 * @category errors
 * @since 0.1.0
 */
export class ImageMismatch extends Data.TaggedError("ImageMismatch")<{
  /** The module or the image's file. */
  readonly source: string
  readonly code: MismatchCode
  /** A page, a slot, a global, an offset in the file. */
  readonly place: string
  readonly detail: string
  readonly remedy: string
}> {
  override get message(): string {
    return `${this.source}: ${this.place}: ${this.detail}. ${this.remedy}`
  }

  /** The plain refusal of the core, under the name of its source. */
  static from(source: string, { code, detail, place, remedy }: Mismatch): ImageMismatch {
    return new ImageMismatch({ source, code, place, detail, remedy })
  }
}
