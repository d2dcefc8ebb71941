/**
 * Booting the module of a command: its script, its instance, and what its boot fails with.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { BakingShape, ImageModule, InstantiateError } from "../../services/Baking.ts"
import { EntryMissing } from "../../services/Errors.ts"
import { bootEntries, type HostScript, loadHostScript } from "./host-script.ts"
import { onFiles } from "./image-files.ts"
import { CommandFailed, ExitCode, failedWith } from "./outcome.ts"

/**
 * Loads the script of an option.
 *
 * @category input
 * @since 0.1.0
 */
export const readHostScript = (script: Option.Option<string>): Effect.Effect<HostScript, CommandFailed> =>
  onFiles(Option.getOrElse(script, () => ""), () => loadHostScript(Option.getOrUndefined(script)))

/** What a boot ends with when it does not end well. */
const bootFailed = (source: string, what: string, cause: unknown): CommandFailed =>
  new CommandFailed({
    exit: cause instanceof WebAssembly.RuntimeError ? ExitCode.trap : ExitCode.failed,
    tag: cause instanceof WebAssembly.RuntimeError ? "Trap" : "HostException",
    message: `${source}: "${what}" did not end: ${cause instanceof Error ? cause.message : String(cause)}`
  })

const bootWith = (
  source: string,
  { exports }: WebAssembly.Instance,
  entries: ReadonlyArray<string>
): Effect.Effect<void, CommandFailed> =>
  Effect.forEach(entries, (entry) => {
    const found: unknown = exports[entry]
    if (typeof found !== "function") {
      const names = Object.keys(exports).filter((name) => typeof exports[name] === "function" && !name.startsWith("\0"))
      const kind = found === undefined ? undefined : "value"
      return failedWith(new EntryMissing({ source, entry, kind, entries: names }))
    }
    return Effect.try({
      try: () => void (found as () => unknown)(),
      catch: (cause) => bootFailed(source, entry, cause)
    })
  }, { discard: true })

/**
 * An instance that the script and the exports have booted.
 *
 * @category booting
 * @since 0.1.0
 */
export const bootModule = (
  baking: BakingShape,
  module: ImageModule,
  host: HostScript,
  init: Option.Option<string>
): Effect.Effect<WebAssembly.Instance, CommandFailed | InstantiateError> =>
  Effect.gen(function*() {
    const { boot, imports } = host
    const instance = yield* baking.instantiate(module, imports)
    if (boot !== undefined) {
      yield* Effect.tryPromise({
        try: async () => await boot(instance),
        catch: (cause) => bootFailed(module.name, "boot", cause)
      })
    }
    yield* bootWith(module.name, instance, bootEntries(instance, host, Option.getOrUndefined(init)))
    return instance
  })
