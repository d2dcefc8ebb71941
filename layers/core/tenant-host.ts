/**
 * What a host does for tenants: it holds images, and makes the memories of a context those of an image.
 *
 * @since 0.1.0
 */
import type { ImageModule, ImageSource } from "../../services/Baking.ts"
import type { Image } from "../../src/image/model.ts"

/**
 * What is kept of a module of the same code as its program's: what a memory is born with in it.
 *
 * @category models
 * @since 0.1.0
 */
export interface OwnModule {
  /** SHA-256 of its bytes in hex. */
  readonly digest: string
  /** Of each memory, the pages of 64 KiB that it is born with and the program's is not. */
  readonly pages: ReadonlyArray<ReadonlyMap<number, Uint8Array>>
}

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
  /** Reads a module at a place. Throws a `Mismatch`. */
  readonly readModule: (place: URL | string) => Uint8Array<ArrayBuffer>
  /** Opens an image from where it is. Throws a `Mismatch`. */
  readonly openImage: (source: ImageSource, trusted: boolean, own: OwnModule | undefined) => HeldImage
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
