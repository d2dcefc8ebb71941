/**
 * The engine's own WebAssembly functions, as they are before anything of them is replaced.
 *
 * Whoever in Folio compiles or instantiates takes them from here, so that no module of Folio's own passes through the
 * interception. There may be several copies of this file: the drop-in is published as one file, what it loads later as
 * single ones. The first copy is there before `intercept.ts` installs anything, and what that installs answers
 * {@link originalsMark} with the first copy's originals.
 *
 * @since 0.1.0
 */

/**
 * Property of an intercepted `WebAssembly.Module` with the originals.
 *
 * @category constants
 * @since 0.1.0
 */
export const originalsMark = Symbol.for("folio-wasm/originals")

import type { Performance } from "node:perf_hooks"

// There is none with `--jitless`; this file is loaded all the same, and nothing of it is used then.
const engine: Partial<typeof WebAssembly> = globalThis.WebAssembly ?? {}
const { compile, compileStreaming, instantiate, instantiateStreaming, Instance, Module, validate } =
  engine as typeof WebAssembly

// The host's own type of it: that of a page has no such function.
const { performance: timing } = globalThis as unknown as { readonly performance: Performance }
const now = timing.now.bind(timing)
// Bun has none: a thread there counts as busy all the time.
const utilization = (timing as Partial<Performance>).eventLoopUtilization?.bind(timing)

const ownOriginals = () => ({
  functions: {
    Module,
    Instance,
    compile,
    compileStreaming,
    instantiate,
    instantiateStreaming,
    validate,
    moduleExports: Module?.exports,
    customSections: Module?.customSections
  } as const,
  exportsGetter: Instance && Object.getOwnPropertyDescriptor(Instance.prototype, "exports")?.get,
  clock: {
    now,
    busy: () => now() - (utilization?.().idle ?? 0),
    setTimeout
  } as const
})

/**
 * Whether this thread's `WebAssembly` is intercepted already, by this copy of Folio or by another.
 *
 * @category originals
 * @since 0.1.0
 */
export const isIntercepted = (): boolean =>
  Reflect.get(globalThis.WebAssembly?.Module ?? {}, originalsMark) !== undefined

/**
 * All that was kept before anything was replaced.
 *
 * @category originals
 * @since 0.1.0
 */
export const originals: ReturnType<typeof ownOriginals> = Reflect.get(Module ?? {}, originalsMark) ?? ownOriginals()

/**
 * The constructors and functions of the engine.
 *
 * @category originals
 * @since 0.1.0
 */
export const original = originals.functions

/**
 * The host's clock (milliseconds, never goes back; `busy` stands still while the thread waits for events) and timer, whatever a test has put in their place: with a clock that
 * stands still a wait would never end.
 *
 * @category originals
 * @since 0.1.0
 */
export const clock = originals.clock

/**
 * The exports object that the engine made for an instance. Throws what the engine throws for anything else.
 *
 * @category originals
 * @since 0.1.0
 */
export const engineExports = (instance: WebAssembly.Instance): WebAssembly.Exports =>
  originals.exportsGetter === undefined ? instance.exports : Reflect.apply(originals.exportsGetter, instance, [])
