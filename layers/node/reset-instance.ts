/**
 * Instances that can be put back, on Node.js.
 *
 * @since 0.1.0
 */
import { Checkpoint } from "../../src/reset/checkpoint.ts"
import type { ResetLayout } from "../../src/reset/layout.ts"
import { hasPageFunctions } from "../../src/reset/pages.ts"
import { chooseRung, type ResetChoice, type ResetHost, type ResetPolicy } from "../../src/reset/policy.ts"
import { type ResetRefusalCode, resettable } from "../../src/reset/resettable.ts"
import { visibleExports } from "./marker.ts"
import { original } from "./original.ts"
import { kernelTracker, kernelTrackingRefusal } from "./reset-kernel.ts"

/**
 * What this thread offers.
 *
 * @category probes
 * @since 0.1.0
 */
export const resetHost = (): ResetHost => ({ kernel: kernelTrackingRefusal(), severalMemories: hasPageFunctions() })

/**
 * The rung that `auto` takes on this machine, and why no faster one.
 *
 * @category probes
 * @since 0.1.0
 */
export const probeReset = (): ResetChoice => chooseRung("auto", resetHost(), false)

/**
 * A module's instances cannot be put back.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotResettable extends Error {
  override readonly name = "NotResettable"
  readonly code: ResetRefusalCode

  constructor(code: ResetRefusalCode, detail: string) {
    super(detail)
    this.code = code
  }
}

/**
 * A compiled module that is prepared for resets. It can be posted to other threads as it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetModule {
  readonly module: WebAssembly.Module
  readonly layout: ResetLayout
  readonly choice: ResetChoice
}

/**
 * How a module is prepared.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetModuleOptions {
  readonly policy?: ResetPolicy
  /** Whether every host write is told through `touch`; only then does `auto` rely on the store map. */
  readonly touches?: boolean
  /** What the host offers, instead of what it says itself: for checking a rung that this machine does not need. */
  readonly host?: ResetHost
}

/**
 * Prepares and compiles a module. Throws {@link NotResettable}, or what the engine says of the bytes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const resetModule = (bytes: Uint8Array, options: ResetModuleOptions = {}): ResetModule => {
  const choice = chooseRung(options.policy ?? "auto", options.host ?? resetHost(), options.touches ?? false)
  if (!original.validate(bytes as BufferSource)) void new original.Module(bytes as BufferSource)
  const prepared = resettable(bytes, { storeMap: choice.rung === "tracked-map" })
  if (prepared._tag === "refused") throw new NotResettable(prepared.code, prepared.detail)
  return { module: new original.Module(prepared.bytes), layout: prepared.layout, choice }
}

/**
 * One instance of a prepared module.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetInstance {
  /** What the original module exports. */
  readonly exports: WebAssembly.Exports
  /** The same with the hidden exports of `src/reset/layout.ts`: all that a reset restores. */
  readonly state: WebAssembly.Exports
  /** Keeps the state of now, which every later reset puts back. */
  readonly checkpoint: () => Checkpoint
}

/**
 * Instantiates a prepared module. Throws what the engine throws.
 *
 * @category constructors
 * @since 0.1.0
 */
export const resetInstance = (
  { choice, layout, module }: ResetModule,
  imports?: WebAssembly.Imports
): ResetInstance => {
  const { exports } = new original.Instance(module, imports)
  return {
    exports: visibleExports(exports),
    state: exports,
    checkpoint: () => new Checkpoint(exports, layout, choice.rung, kernelTracker)
  }
}
