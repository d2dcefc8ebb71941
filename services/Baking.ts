/**
 * Baking: images of a booted program.
 *
 * A program boots once; its state is captured, and every later instance starts from there: by copy, mapped from a file,
 * loaded in chunks, or born with it in a rewritten module. What an image can carry and what its user must renew, rebind
 * and check is the contract in `ReplayHooks`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { WasmModule } from "../src/binary/module.ts"
import type { ApplyOptions } from "../src/image/apply.ts"
import type { Difference } from "../src/image/check.ts"
import type { FetchFile, LoadOptions } from "../src/image/chunks.ts"
import type { Image } from "../src/image/model.ts"
import type { CaptureHooks, ReplayHooks } from "../src/image/replay.ts"
import type { Finding, Secret } from "../src/image/scan.ts"
import type { Verdict } from "../src/image/verdict.ts"
import type { HostException, LinkFailed, ModuleInvalid, Trap } from "./Errors.ts"
import type { ModuleSource } from "./Extraction.ts"
import type { ImageMismatch } from "./ImageErrors.ts"

/**
 * A module that images are made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageModule {
  readonly name: string
  /** The original bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly decoded: WasmModule
  /** SHA-256 of the original bytes in hex. */
  readonly digest: string
  /** The module to instantiate: the original with its whole state exported under hidden names. */
  readonly instrumented: WebAssembly.Module
}

/**
 * Where an image is: in memory, as its bytes, or (on Node.js) a path or a `file:` URL.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageSource = Image | Uint8Array | URL | string

/**
 * How a state is captured.
 *
 * @category options
 * @since 0.1.0
 */
export interface CaptureRequest extends CaptureHooks {
  /** What the state depends on besides the module: configuration, versions, data. Compared before use. */
  readonly fingerprint?: string | undefined
}

/**
 * How an image is opened.
 *
 * @category options
 * @since 0.1.0
 */
export interface OpenImageOptions extends ApplyOptions {
  /** Refuses an image that was made for another one; undefined: any will do. */
  readonly fingerprint?: string | undefined
  readonly hooks?: ReplayHooks | undefined
  /**
   * Take the pages as they are, without comparing their hashes: for an image that only its owner can write. A mapped
   * page is then read when it is first touched. What the image says besides its pages is compared all the same.
   */
  readonly trusted?: boolean | undefined
}

/**
 * How an instance came to its state.
 *
 * @category models
 * @since 0.1.0
 */
export interface Opened {
  readonly image: Image
  /** `mapped`: pages are shared with the file until they are written. `copied`: they are in memory. */
  readonly how: "mapped" | "copied"
  /** Why a file was copied and not mapped. */
  readonly reason?: string | undefined
}

/**
 * What {@link BakingShape.openOrBoot} may use.
 *
 * @category options
 * @since 0.1.0
 */
export interface OpenOrBoot<E, R> extends OpenImageOptions {
  /** The plain module; undefined where none is at hand, so that without a fitting image there is no instance. */
  readonly module?: ImageModule | undefined
  /** The image, for the plain module. */
  readonly image?: ImageSource | undefined
  /** A module with the image baked in, instead of module and image. */
  readonly baked?: Uint8Array<ArrayBuffer> | undefined
  /** Imports for one instance. A second one is made when the image turns out not to fit. */
  readonly imports: () => WebAssembly.Imports
  /** Boots a plain instance. */
  readonly boot: (instance: WebAssembly.Instance) => Effect.Effect<void, E, R>
}

/**
 * A running program.
 *
 * @category models
 * @since 0.1.0
 */
export interface Started {
  readonly instance: WebAssembly.Instance
  readonly from: "image" | "baked" | "boot"
  /** Why it was booted and not opened. */
  readonly mismatch?: ImageMismatch | undefined
}

/**
 * Why an instance of a module does not come to be.
 *
 * @category errors
 * @since 0.1.0
 */
export type InstantiateError = LinkFailed | Trap | HostException

/**
 * The operations of {@link Baking}.
 *
 * @category models
 * @since 0.1.0
 */
export interface BakingShape {
  /** Reads a module and makes its state reachable. */
  readonly prepare: (source: ModuleSource, name?: string) => Effect.Effect<ImageModule, ModuleInvalid | ImageMismatch>
  /** Instantiates a prepared module. */
  readonly instantiate: (
    module: ImageModule,
    imports?: WebAssembly.Imports
  ) => Effect.Effect<WebAssembly.Instance, InstantiateError>
  /** Captures the state of an instance. */
  readonly capture: (
    module: ImageModule,
    instance: WebAssembly.Instance,
    request?: CaptureRequest
  ) => Effect.Effect<Image, ImageMismatch>
  /** The bytes of an image's file. */
  readonly encode: (image: Image) => Uint8Array<ArrayBuffer>
  /** Writes an image's file, and puts it into place at once: whoever maps the old one keeps it. */
  readonly write: (image: Image, place: URL | string) => Effect.Effect<void, ImageMismatch>
  /** Reads an image and checks every byte of it. */
  readonly read: (source: ImageSource) => Effect.Effect<Image, ImageMismatch>
  /** Gives an instance the state of an image, and runs the hooks. A file is mapped where that is possible. */
  readonly open: (
    module: ImageModule,
    instance: WebAssembly.Instance,
    source: ImageSource,
    options?: OpenImageOptions
  ) => Effect.Effect<Opened, ImageMismatch>
  /** The same from an image in chunks. */
  readonly load: (
    module: ImageModule,
    instance: WebAssembly.Instance,
    fetchFile: FetchFile,
    options?: OpenImageOptions & LoadOptions
  ) => Effect.Effect<Opened, ImageMismatch>
  /** An instance from an image that fits, else one that is booted plainly. */
  readonly openOrBoot: <E = never, R = never>(
    request: OpenOrBoot<E, R>
  ) => Effect.Effect<Started, E | ImageMismatch | ModuleInvalid | InstantiateError, R>
  /** A module that is born with the state of an image. */
  readonly bake: (module: ImageModule, image: Image) => Effect.Effect<Uint8Array<ArrayBuffer>, ImageMismatch>
  /** Where a baked module is not born with the state of the image; empty when it is. */
  readonly checkBaked: (
    module: ImageModule,
    baked: Uint8Array,
    image: Image
  ) => Effect.Effect<ReadonlyArray<Difference>, ImageMismatch | ModuleInvalid>
  /** Looks for secrets. */
  readonly scan: (
    module: ImageModule,
    image: Image,
    secrets: ReadonlyArray<Secret>
  ) => Effect.Effect<ReadonlyArray<Finding>, ImageMismatch>
  /** Boots twice, and says what of the state is another one each time. */
  readonly verdict: <E, R>(
    module: ImageModule,
    boot: Effect.Effect<WebAssembly.Instance, E, R>
  ) => Effect.Effect<Verdict, E | ImageMismatch, R>
}

/**
 * Images of booted programs.
 *
 * @category services
 * @since 0.1.0
 */
export class Baking extends Context.Tag("folio/services/Baking")<Baking, BakingShape>() {}
