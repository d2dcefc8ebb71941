/**
 * Tenants on Node.js: images are mapped from their files where `node:ffi` allows it, and copied elsewhere.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Fs from "node:fs"
import { Baking, type ImageSource } from "../../services/Baking.ts"
import { TenantLimits, Tenants, type TenantsShape } from "../../services/Tenants.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { HotPages } from "../../src/tenants/hot.ts"
import { makeTenants } from "../core/CoreTenants.ts"
import { type CopiedImage, copiedMemories, holdImage } from "../core/tenant-copies.ts"
import type { TenantHost } from "../core/tenant-host.ts"
import { type NativeCalls, probeNative } from "./ffi.ts"
import * as NodeBaking from "./NodeBaking.ts"
import { ProgramImages } from "./tenant-images.ts"
import { mappedMemories } from "./tenant-memory.ts"

const readPlace = (place: URL | string): Uint8Array<ArrayBuffer> => {
  try {
    return new Uint8Array(Fs.readFileSync(place))
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    throw new Mismatch("unreadable", "the file", detail, "Check the path and its permissions.")
  }
}

/** Images are read whole. */
const copyingHost: TenantHost = {
  openProgram: ({ decoded }) => ({
    readModule: readPlace,
    openImage: (source: ImageSource, trusted, own): CopiedImage => ({
      ...holdImage(typeof source === "string" || source instanceof URL ? readPlace(source) : source, trusted),
      own
    }),
    openMemories: (exports) => copiedMemories(decoded, exports),
    close: () => {}
  })
}

const mappingHost = (calls: NativeCalls, pagemap: number): TenantHost => ({
  openProgram: (module) => {
    const images = new ProgramImages(module, calls)
    const hot = module.decoded.memories.map(() => new HotPages())
    return {
      readModule: readPlace,
      openImage: (source, trusted, own) => images.open(source, trusted, own),
      openMemories: (exports) => mappedMemories(module.decoded, exports, calls, pagemap, hot),
      close: () => images.close()
    }
  }
})

const acquireHost: Effect.Effect<TenantHost, never, Scope.Scope> = Effect.suspend(() => {
  const calls = probeNative()
  if (typeof calls === "string") return Effect.succeed(copyingHost)
  return Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => Fs.openSync("/proc/self/pagemap", "r")),
      (pagemap) => Effect.sync(() => Fs.closeSync(pagemap))
    ),
    (pagemap) => mappingHost(calls, pagemap)
  )
})

/**
 * Tenants, until the scope ends.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: typeof TenantLimits.Encoded = {}
): Effect.Effect<TenantsShape, never, Baking | Scope.Scope> =>
  Effect.gen(function*() {
    const limits = yield* Effect.orDie(Schema.decode(TenantLimits)(options))
    const { prepare } = yield* Baking
    return yield* makeTenants(yield* acquireHost, limits, prepare)
  })

/**
 * {@link Tenants} on Node.js.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: typeof TenantLimits.Encoded = {}): Layer.Layer<Tenants> =>
  Layer.scoped(Tenants, make(options)).pipe(Layer.provide(NodeBaking.layer))
