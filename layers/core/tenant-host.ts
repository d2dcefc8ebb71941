/**
 * What a host does for tenants: it holds images, and makes the memories of a context those of an image.
 *
 * @since 0.1.0
 */
import type { ImageModule, ImageSource } from "../../services/Baking.ts"
import type { Image } from "../../src/image/model.ts"

/**
 * An image that is open.
 *
 * @category models
 * @since 0.1.0
 */
export interface HeldImage {
  /** Its pages may have no bytes: the host knows where they are. */
  readonly image: Image
  /** Memory that it takes. */
  readonly bytes: number
  readonly close: () => void
}

/**
 * The memories of one context.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantMemories {
  /**
   * Every byte becomes that of the image. The memories have its sizes already. `same` says that it is the image that was
   * attached before, so only what was written since has to be put back. Throws where the system refuses: the context
   * is then of no use any more.
   */
  readonly attach: (held: HeldImage, same: boolean) => void
  /** Gives their pages back to the system. The context is used no more. */
  readonly release: () => void
}

/**
 * What a host keeps for the contexts of one program.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantProgramHost {
  /** Opens an image from where it is. Throws a `Mismatch`. */
  readonly openImage: (source: ImageSource, trusted: boolean) => HeldImage
  readonly openMemories: (exports: WebAssembly.Exports) => TenantMemories
  readonly close: () => void
}

/**
 * A host of tenants.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantHost {
  readonly openProgram: (module: ImageModule) => TenantProgramHost
}
