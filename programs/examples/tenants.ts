/**
 * A program with many users: each has a state of its own, which begins with an image, in as many contexts as memory is
 * given for.
 *
 *     node programs/examples/tenants.ts
 *
 * The image is that of a booted instance. A tenant that persists goes on where it was, in whichever context; the others
 * begin with the image each time.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import * as NodeTenants from "../../layers/node/NodeTenants.ts"
import { Baking } from "../../services/Baking.ts"
import { Tenants } from "../../services/Tenants.ts"

/**
 * The image of a new instance in which `boot` has run.
 *
 * @category examples
 * @since 0.1.0
 */
export const bootedImage = (source: Uint8Array, boot: (exports: WebAssembly.Exports) => void) =>
  Effect.gen(function*() {
    const baking = yield* Baking
    const module = yield* baking.prepare(source)
    const instance = yield* baking.instantiate(module)
    boot(instance.exports)
    return yield* baking.capture(module, instance)
  }).pipe(Effect.provide(NodeBaking.layer))

/**
 * Answers requests, each a user and what is done with the exports of the user's context. Users that are named in `keep`
 * keep their state.
 *
 * @category examples
 * @since 0.1.0
 */
export const answer = <A>(
  source: Uint8Array,
  boot: (exports: WebAssembly.Exports) => void,
  keep: ReadonlySet<string>,
  requests: ReadonlyArray<readonly [user: string, request: (exports: WebAssembly.Exports) => A]>
) =>
  Effect.gen(function*() {
    const image = yield* bootedImage(source, boot)
    const tenants = yield* Tenants
    const program = yield* tenants.program({
      name: "guest",
      module: source,
      open: (instantiate) => instantiate().exports
    })
    for (const user of new Set(requests.map(([user]) => user))) {
      yield* tenants.add(user, { program, image, state: keep.has(user) ? "persist" : "reset" })
    }
    return yield* Effect.forEach(requests, ([user, request]) => tenants.run(program, user, ({ host }) => request(host)))
  })

if (import.meta.main) {
  const source = readFileSync(new URL("../../bench/fixtures/kernels/loops-o2.wasm", import.meta.url))
  const bytes = (exports: WebAssembly.Exports) => new Uint8Array((exports["memory"] as WebAssembly.Memory).buffer)
  const count = (exports: WebAssembly.Exports) => ++bytes(exports)[70_000]
  const requests = ["ada", "bob", "ada", "bob"].map((user) => [user, count] as const)
  await answer(source, (exports) => bytes(exports).fill(1, 65_536, 131_072), new Set(["ada"]), requests).pipe(
    Effect.tap((answers) => Console.log(`ada goes on, bob begins again: ${answers.join(", ")}`)),
    Effect.scoped,
    Effect.provide(NodeTenants.layer({ budgetBytes: 64 * 2 ** 20 })),
    Effect.runPromise
  )
}
