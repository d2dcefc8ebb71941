/**
 * The engine's own WebAssembly functions, as they are before anything of them is replaced.
 *
 * Whoever in Folio compiles or instantiates takes them from here, so that no module of Folio's own passes through the
 * interception. This file must therefore be loaded before `intercept.ts` installs anything, and it is: that file
 * imports it.
 *
 * @since 0.1.0
 */

// There is none with `--jitless`; this file is loaded all the same, and nothing of it is used then.
const engine: Partial<typeof WebAssembly> = globalThis.WebAssembly ?? {}
const { compile, compileStreaming, instantiate, instantiateStreaming, Instance, Module, validate } =
  engine as typeof WebAssembly
const exportsGetter = Instance && Object.getOwnPropertyDescriptor(Instance.prototype, "exports")?.get

/**
 * The constructors and functions of the engine.
 *
 * @category originals
 * @since 0.1.0
 */
export const original = {
  Module,
  Instance,
  compile,
  compileStreaming,
  instantiate,
  instantiateStreaming,
  validate,
  moduleExports: Module?.exports,
  customSections: Module?.customSections
} as const

const { performance, setTimeout } = globalThis

/**
 * The host's clock (milliseconds, never goes back) and timer, whatever a test has put in their place: with a clock that
 * stands still a wait would never end.
 *
 * @category originals
 * @since 0.1.0
 */
export const clock = { now: performance.now.bind(performance), setTimeout } as const

/**
 * The exports object that the engine made for an instance. Throws what the engine throws for anything else.
 *
 * @category originals
 * @since 0.1.0
 */
export const engineExports = (instance: WebAssembly.Instance): WebAssembly.Exports =>
  exportsGetter === undefined ? instance.exports : Reflect.apply(exportsGetter, instance, [])
