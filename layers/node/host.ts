/**
 * What this host has for running loops apart, found out without loading any of it.
 *
 * @since 0.1.0
 */
import type { Settings } from "./settings.ts"

/**
 * The memory rung that patched modules are made for, or why this process runs natively.
 *
 * @category models
 * @since 0.1.0
 */
export type HostVerdict =
  | { readonly _tag: "able"; readonly rung: "alias" }
  | { readonly _tag: "unable"; readonly reason: string }

/** First Node.js with `node:ffi`. */
const neededMajor = 26

/**
 * Judges the host.
 *
 * @category probes
 * @since 0.1.0
 */
export const judgeHost = ({ workers }: Pick<Settings, "workers">): HostVerdict => {
  const unable = (reason: string): HostVerdict => ({ _tag: "unable", reason })
  if (globalThis.WebAssembly === undefined) return unable("there is no WebAssembly (--jitless)")
  if (Number.parseInt(process.versions.node, 10) < neededMajor) {
    return unable(`Node.js ${process.version} cannot map a guest's memory into other threads; Node.js 26 can`)
  }
  if (process.platform !== "linux") {
    return unable(`a guest's memory is mapped on Linux only, this is ${process.platform}`)
  }
  // Asked for, not imported: each import of one of Node.js's own modules costs a process without WebAssembly as much
  // as one of Folio's.
  const { isBuiltin } = process.getBuiltinModule("node:module")
  if (!isBuiltin("node:ffi")) return unable("node:ffi is switched off (--no-experimental-ffi)")
  // Modules are loaded when `new WebAssembly.Module` is called, which cannot wait for `import`.
  if (!process.features.require_module) return unable("require of ES modules is switched off (--no-require-module)")
  if (workers === 1) return unable("FOLIO_WORKERS=1 asks for one thread")
  if (workers === undefined && process.getBuiltinModule("node:os").availableParallelism() < 2) {
    return unable("one CPU is available")
  }
  return { _tag: "able", rung: "alias" }
}
