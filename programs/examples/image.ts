/**
 * A program that boots once: its state goes to a file, and every later start opens the file.
 *
 *     node programs/examples/image.ts
 *
 * The first run boots and writes the image, the next ones map it. The number that `random` gives is a seed: it is in the
 * image, so it is renewed at every start. Another configuration has another fingerprint, and boots.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { Baking } from "../../services/Baking.ts"

/**
 * What the guest exports, and how its host boots and renews it.
 *
 * @category examples
 * @since 0.1.0
 */
export interface Guest {
  readonly imports: () => WebAssembly.Imports
  readonly boot: (exports: WebAssembly.Exports) => void
  readonly renew: (exports: WebAssembly.Exports) => void
}

/**
 * A running instance: from the image in `file` where it fits, else booted, with the image written for the next start.
 *
 * @category examples
 * @since 0.1.0
 */
export const start = (source: Uint8Array | URL, guest: Guest, file: string, fingerprint: string) =>
  Effect.gen(function*() {
    const baking = yield* Baking
    const module = yield* baking.prepare(source)
    const started = yield* baking.openOrBoot({
      module,
      image: existsSync(file) ? file : undefined,
      fingerprint,
      imports: guest.imports,
      boot: ({ exports }) => Effect.sync(() => guest.boot(exports)),
      hooks: { renewed: { seed: guest.renew } }
    })
    if (started.from === "boot") {
      const image = yield* baking.capture(module, started.instance, { fingerprint, renew: ["seed"] })
      yield* baking.write(image, file)
    }
    return started
  })

if (import.meta.main) {
  const source = new URL("../../bench/fixtures/kernels/loops-o2.wasm", import.meta.url)
  const fill = (exports: WebAssembly.Exports) => {
    new Uint8Array((exports["memory"] as WebAssembly.Memory).buffer).fill(1, 65536, 131072)
  }
  const guest = { imports: () => ({}), boot: fill, renew: () => {} }
  await start(source, guest, join(tmpdir(), "folio-example.image"), "1").pipe(
    Effect.tap(({ from }) => Console.log(`started from ${from}`)),
    Effect.provide(NodeBaking.layer),
    Effect.runPromise
  )
}
