/**
 * The contract of a replay: what an image can carry, and what its user must do about the rest.
 *
 * | class | state | who | where |
 * |---|---|---|---|
 * | captured | memory, mutable globals, tables, dropped segments | the image | `capture`; `captured` looks at it after |
 * | renewed | seeds, keys, identifiers, caches of time | the caller's hook of that name | before the first call |
 * | rebound | files, streams, handles of the host | the caller's hook of that name | before the first call |
 * | invalidated | what the state depends on: configuration, versions | the fingerprint, or the hook | before anything is written |
 * | refused | live state that no hook can make again: open transactions, sockets | `refused`, at the capture | no image |
 *
 * An image says by name what must be renewed and rebound. A name without a hook refuses the replay: an image whose seed
 * nobody renews gives every user of it the same numbers, in silence.
 *
 * @since 0.1.0
 */
import { Mismatch } from "./mismatch.ts"
import type { Image } from "./model.ts"

/**
 * What a host knows at the capture that the module does not.
 *
 * @category models
 * @since 0.1.0
 */
export interface CaptureHooks {
  /** Names of what must be renewed. */
  readonly renew?: ReadonlyArray<string> | undefined
  /** Handles that are open, by the names under which they can be opened again; undefined where there is no name. */
  readonly handles?: ReadonlyArray<string | undefined> | undefined
  /** Says why the state must not be captured now; undefined when it may. */
  readonly refused?: (() => string | undefined) | undefined
}

/** What a hook is given: the exports of the instance that has just taken over the state. @category models @since 0.1.0 */
export type ReplayHook = (exports: WebAssembly.Exports, name: string) => void

/**
 * What a host does at a replay.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReplayHooks {
  /**
   * Says why the state does not hold any more, for what no fingerprint names; undefined when it does. Asked before
   * anything is written.
   */
  readonly invalidated?: ((image: Pick<Image, "module" | "fingerprint">) => string | undefined) | undefined
  /** Looks at the state before anything is renewed and objects with a reason. */
  readonly captured?: ((exports: WebAssembly.Exports) => string | undefined) | undefined
  readonly renewed?: Readonly<Record<string, ReplayHook>> | undefined
  readonly rebound?: Readonly<Record<string, ReplayHook>> | undefined
}

/**
 * The names that an image records, from the hooks at its capture. Throws a `Mismatch` where the state must not be
 * captured.
 *
 * @category capturing
 * @since 0.1.0
 */
export const captureContract = (
  hooks: CaptureHooks
): { readonly renew: ReadonlyArray<string>; readonly rebind: ReadonlyArray<string> } => {
  const reason = hooks.refused?.()
  if (reason !== undefined) {
    throw new Mismatch("live-state", "the host", reason, "Finish what is under way, then capture.")
  }
  const handles = hooks.handles ?? []
  const nameless = handles.indexOf(undefined)
  if (nameless >= 0) {
    throw new Mismatch(
      "handle",
      `handle ${nameless}`,
      "it has no name under which it could be opened again",
      "Close it before the capture, or give it a name."
    )
  }
  return { renew: [...hooks.renew ?? []], rebind: handles.filter((name) => name !== undefined) }
}

/**
 * Refuses an image that was made from another module or for another fingerprint.
 *
 * @category replaying
 * @since 0.1.0
 */
export const checkFingerprint = (
  image: Pick<Image, "module" | "fingerprint">,
  expected: { readonly module: string; readonly fingerprint: string | undefined }
): void => {
  if (image.module !== expected.module) {
    throw new Mismatch(
      "module",
      "the module",
      `the image was made from ${image.module.slice(0, 12)}…, this one is ${expected.module.slice(0, 12)}…`,
      "Make an image of this module."
    )
  }
  if (expected.fingerprint !== undefined && image.fingerprint !== expected.fingerprint) {
    throw new Mismatch(
      "fingerprint",
      "the fingerprint",
      `the image was made for "${image.fingerprint}", this is "${expected.fingerprint}"`,
      "Boot without the image and make a new one."
    )
  }
}

const hookOf = (hooks: Readonly<Record<string, ReplayHook>> | undefined, name: string): ReplayHook | undefined =>
  hooks !== undefined && Object.hasOwn(hooks, name) ? hooks[name] : undefined

/**
 * Refuses an image that the host says is no longer valid, or that asks for a hook that is not there, before anything is
 * written.
 *
 * @category replaying
 * @since 0.1.0
 */
export const checkHooks = (
  image: Pick<Image, "module" | "fingerprint" | "renew" | "rebind">,
  hooks: ReplayHooks
): void => {
  const invalid = hooks.invalidated?.(image)
  if (invalid !== undefined) {
    throw new Mismatch("invalidated", "the image", invalid, "Boot without the image and make a new one.")
  }
  for (const name of image.renew) {
    if (hookOf(hooks.renewed, name) !== undefined) continue
    throw new Mismatch("renewal", `"${name}"`, "nothing renews it", `Pass a hook "${name}" in \`renewed\`.`)
  }
  for (const name of image.rebind) {
    if (hookOf(hooks.rebound, name) !== undefined) continue
    throw new Mismatch("handle", `"${name}"`, "nothing opens it again", `Pass a hook "${name}" in \`rebound\`.`)
  }
}

/**
 * Runs the hooks over an instance that has taken over the state: looks at it, opens handles, renews.
 *
 * @category replaying
 * @since 0.1.0
 */
export const runHooks = (
  exports: WebAssembly.Exports,
  image: Pick<Image, "renew" | "rebind">,
  hooks: ReplayHooks
): void => {
  const objection = hooks.captured?.(exports)
  if (objection !== undefined) {
    throw new Mismatch("replay", "the restored state", objection, "Boot without the image and make a new one.")
  }
  for (const name of image.rebind) hookOf(hooks.rebound, name)?.(exports, name)
  for (const name of image.renew) hookOf(hooks.renewed, name)?.(exports, name)
}
