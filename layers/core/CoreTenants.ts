/**
 * Tenants by the plain pool: what it cannot do at once is waited for here.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { BakingShape } from "../../services/Baking.ts"
import type { HostException, Trap } from "../../services/Errors.ts"
import { ImageMismatch } from "../../services/ImageErrors.ts"
import { TenantRefused } from "../../services/TenantErrors.ts"
import type {
  TenantContext,
  TenantError,
  TenantLimits,
  TenantProgram,
  TenantProgramOptions,
  TenantsShape
} from "../../services/Tenants.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { digestOf } from "./CoreBaking.ts"
import { instantiateFailure } from "./instantiate.ts"
import { thrown } from "./session.ts"
import { TenantInstance } from "./tenant-context.ts"
import type { TenantHost } from "./tenant-host.ts"
import { ownModule } from "./tenant-module.ts"
import { type TenantLease, TenantPool } from "./tenant-pool.ts"
import { PooledProgram } from "./tenant-states.ts"

type Refusal = TenantRefused | ImageMismatch | Trap | HostException

/** Plain code of the pool: what it throws is a refusal, or what a hook has thrown. */
const plain = <A>(name: string, work: () => A): Effect.Effect<A, Refusal> =>
  Effect.suspend((): Effect.Effect<A, Refusal> => {
    try {
      return Effect.succeed(work())
    } catch (error) {
      if (error instanceof TenantRefused) return error
      if (error instanceof Mismatch) return ImageMismatch.from(name, error)
      return thrown(name, "(open)", error) as Trap | HostException
    }
  })

/**
 * Tenants on a host, until the scope ends.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeTenants = (
  host: TenantHost,
  limits: TenantLimits,
  prepare: BakingShape["prepare"]
): Effect.Effect<TenantsShape, never, Scope.Scope> =>
  Effect.gen(function*() {
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => new TenantPool(host, limits)),
      (pool) => Effect.sync(() => pool.close())
    )
    // Programs are compiled one at a time, so that nobody compiles what another one is about to have.
    const compiling = yield* Effect.makeSemaphore(1)

    const prepared = (program: PooledProgram): Effect.Effect<void, TenantError> =>
      Effect.suspend(() =>
        program.shape !== undefined
          ? Effect.void
          : Effect.flatMap(
            prepare(program.source, program.name),
            (module) => plain(program.name, () => pool.prepared(program, module))
          )
      ).pipe(compiling.withPermits(1))

    const open = (program: PooledProgram, bytes: number): Effect.Effect<void, TenantError> =>
      Effect.suspend(() => {
        const reservation = pool.reserve(program, bytes)
        return Effect.tryPromise({
          try: () => TenantInstance.open(program.shape!, program.options.open, program.options.grow),
          catch: (cause) => instantiateFailure(program.name, cause)
        }).pipe(
          Effect.tapErrorCause(() => Effect.sync(() => pool.opened(program, reservation, undefined))),
          Effect.flatMap((instance) => plain(program.name, () => pool.opened(program, reservation, instance)))
        )
      }).pipe(Effect.uninterruptible)

    const released = Effect.async<void>((resume) => {
      const forget = pool.wait(() => resume(Effect.void))
      return Effect.sync(forget)
    })

    /** Interrupted only while it waits: what it has then, it gives to its caller. */
    const take = <A>(
      program: TenantProgram<A>,
      name: string,
      restore: <B, E, R>(effect: Effect.Effect<B, E, R>) => Effect.Effect<B, E, R>
    ): Effect.Effect<TenantLease, TenantError> =>
      Effect.flatMap(plain(name, () => pool.take(program, name)), (attempt) => {
        switch (attempt._tag) {
          case "lease":
            return Effect.succeed(attempt.lease)
          case "prepare":
            return Effect.zipRight(restore(prepared(attempt.program)), take(program, name, restore))
          case "open":
            return Effect.zipRight(open(attempt.program, attempt.bytes), take(program, name, restore))
          case "wait":
            return Effect.zipRight(restore(released), take(program, name, restore))
        }
      })

    /** A tenant's own module, read and compared. */
    const own = (name: string, program: TenantProgram<unknown>, source: Uint8Array | URL | string) =>
      Effect.gen(function*() {
        const pooled = yield* plain(name, () => pool.known(name, program))
        yield* prepared(pooled)
        const { shape } = pooled
        const bytes = yield* plain(
          name,
          () => source instanceof Uint8Array ? new Uint8Array(source) : shape!.host.readModule(source)
        )
        const digest = yield* Effect.promise(() => digestOf(bytes))
        return yield* plain(name, () => ownModule(shape!, bytes, digest))
      })

    return {
      program: <A>(options: TenantProgramOptions<A>) =>
        Effect.gen(function*() {
          const module = yield* prepare(options.module, options.name)
          const program = new PooledProgram(options as TenantProgramOptions<unknown>, module.digest)
          yield* plain(options.name, () => pool.prepared(program, module))
          for (let context = 0; context < (options.contexts ?? 1); context++) {
            const bytes = pool.initialBytes(program)
            yield* plain(options.name, () => pool.makeRoom(program, bytes))
            yield* open(program, bytes)
          }
          return program as TenantProgram<A>
        }),
      add: (name, options) =>
        Effect.flatMap(
          options.module === undefined ? Effect.succeed(undefined) : own(name, options.program, options.module),
          (own) => plain(name, () => pool.add(name, options, own))
        ),
      remove: (name) => plain(name, () => pool.remove(name)) as Effect.Effect<void, TenantRefused>,
      acquire: <A>(program: TenantProgram<A>, name: string) =>
        Effect.uninterruptibleMask((restore) =>
          take(program, name, restore).pipe(
            Effect.tap((lease) => Effect.addFinalizer(() => Effect.sync(lease.release))),
            Effect.map(({ context }) => context as TenantContext<A>)
          )
        ),
      run: <A, B>(program: TenantProgram<A>, name: string, request: (context: TenantContext<A>) => B) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(take(program, name, restore), ({ context, release }) =>
            Effect.suspend((): Effect.Effect<B, Trap | HostException> => {
              try {
                return Effect.succeed(request(context as TenantContext<A>))
              } catch (error) {
                return thrown(name, "(request)", error) as Trap | HostException
              } finally {
                release()
              }
            }))
        ),
      capture: (name) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(
            plain(name, () =>
              pool.persisting(name)),
            (program) =>
              Effect.flatMap(
                take(program, name, restore),
                ({ capture, release }) =>
                  Effect.ensuring(plain(name, capture), Effect.sync(release))
              )
          )
        ),
      status: () => pool.status()
    }
  })
