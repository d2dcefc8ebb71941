/**
 * Tenants on any host: images are bytes, and are copied into the memories of contexts.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Baking } from "../../services/Baking.ts"
import { TenantLimits, Tenants } from "../../services/Tenants.ts"
import { makeTenants } from "../core/CoreTenants.ts"
import { copyingHost } from "../core/tenant-copies.ts"
import * as MemoryBaking from "./MemoryBaking.ts"

/**
 * {@link Tenants} that reads no files.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: typeof TenantLimits.Encoded = {}): Layer.Layer<Tenants> =>
  Layer.scoped(
    Tenants,
    Effect.gen(function*() {
      const limits = yield* Effect.orDie(Schema.decode(TenantLimits)(options))
      const { prepare } = yield* Baking
      return yield* makeTenants(copyingHost, limits, prepare)
    })
  ).pipe(Layer.provide(MemoryBaking.layer))
