/**
 * What happens at each interception: which bytes the engine compiles, and what the program sees of a patched module.
 *
 * What the program gets are the engine's own objects, made by the engine's own functions, which read the program's
 * arguments themselves and throw their own errors; only bytes are exchanged on the way in. An instance is recognised
 * when its `exports` are first read (see `marker.ts`), so nothing has to happen between the engine and the program's
 * `await`, and an import object is never looked at.
 *
 * @since 0.1.0
 */
import { sectionName } from "../../src/plan/hidden.ts"
import type { Decisions } from "./intercept.ts"
import { CLONE_SECTION, identityOf, isHidden, visibleExports } from "./marker.ts"
import { original } from "./original.ts"
import { requireModule } from "./require.ts"
import { beginsAsModule, shortestModule, sourceBytes } from "./source-bytes.ts"
import type * as Streaming from "./streaming.ts"

/**
 * What is done with modules and instances. A method that throws counts as one that declines: the program goes on
 * natively.
 *
 * @category models
 * @since 0.1.0
 */
export interface Substitution {
  /**
   * The module to compile instead of `bytes`, or `undefined` for these. It must not keep `bytes`.
   *
   * @param from the script that asks for it, as a URL or path
   */
  readonly substitute: (bytes: Uint8Array, from: string | undefined) => Uint8Array | undefined
  /** A patched module is about to be instantiated that another thread may have compiled. */
  readonly adopt: (clone: Uint8Array) => void
  /** The exports of a patched module's instance are read for the first time. */
  readonly bind: (instance: WebAssembly.Instance, identity: bigint) => WebAssembly.Exports
}

/** Scripts whose modules are not the program's: Node.js compiles some for itself, and so does Folio. */
const foreign = [
  "node:internal/deps/",
  "node:internal/modules/",
  ...["layers/", "services/", "src/"].map((folder) => new URL(`../../${folder}`, import.meta.url).href)
]

/** Frames between a program and {@link callingScript}: itself, the decision that asks, and the intercepted function. */
const ownFrames = 3

/** The script that called the intercepted function. */
const callingScript = (): string | undefined =>
  process.getBuiltinModule("node:util").getCallSites?.(ownFrames + 1)[ownFrames]?.scriptName

const isPatched = (module: WebAssembly.Module): boolean => original.customSections(module, CLONE_SECTION).length > 0

/**
 * Decides by a substitution.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeDecisions = (substitution: Substitution): Decisions => {
  const substitute = (bytes: Uint8Array, from: string | undefined): Uint8Array | undefined => {
    try {
      return substitution.substitute(bytes, from)
    } catch {
      return undefined
    }
  }
  /** Modules that need not be looked at for what another thread put into them. */
  const known = new WeakSet<object>()

  return {
    compiling: (args) => {
      const source = sourceBytes(args[0])
      if (source === undefined || source.bytes.length < shortestModule || !beginsAsModule(source.bytes)) return args
      const from = callingScript()
      if (from !== undefined && foreign.some((folder) => from.startsWith(folder))) return args
      const replaced = substitute(source.shared ? source.bytes.slice() : source.bytes, from)
      return replaced === undefined ? args : [replaced, ...args.slice(1)]
    },
    streaming: (args) => {
      if (args.length === 0) return args
      const from = callingScript()
      const { replacedSource } = requireModule<typeof Streaming>("./streaming")
      return [replacedSource(args[0], (bytes) => substitute(bytes, from)), ...args.slice(1)]
    },
    compiled: (module) => {
      known.add(module)
    },
    instantiating: (module) => {
      if (typeof module !== "object" || module === null || known.has(module)) return
      if (sourceBytes(module) !== undefined) return
      try {
        const [clone] = original.customSections(module as WebAssembly.Module, CLONE_SECTION)
        known.add(module)
        if (clone !== undefined) substitution.adopt(new Uint8Array(clone))
      } catch {
        // Not a module, which the engine will say, or a clone that is not understood, which stays unbound.
      }
    },
    exports: (instance, exports, remember) => {
      const identity = identityOf(exports)
      if (identity === undefined) return exports
      // Whoever binds reads the exports too, and needs the hidden ones.
      remember(exports)
      try {
        return substitution.bind(instance, identity)
      } catch {
        return visibleExports(exports)
      }
    },
    descriptors: (module, descriptors) =>
      isPatched(module) ? descriptors.filter(({ name }) => !isHidden(name)) : descriptors,
    sections: (module, name, sections) => {
      if (sections.length === 0) return sections
      if (name === CLONE_SECTION) return []
      // The plan's own mark is behind whatever the program has under that name.
      return name === sectionName && isPatched(module) ? sections.slice(0, -1) : sections
    }
  }
}
