/**
 * Takes a profile of a whole program: each module that it compiles is a copy that counts, and what the instances of a
 * module executed is added up when the thread ends.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { isMainThread, threadId } from "node:worker_threads"
import { emitModule } from "../../src/binary/emit.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { hiddenPrefix, sectionName } from "../../src/plan/hidden.ts"
import { COUNTERS_EXPORT, type FunctionCounters, instrument } from "../../src/profile/instrument.ts"
import { profileDocument, readProfile } from "../../src/profile/profile.ts"
import { checksum } from "./checksum.ts"
import type { Substitution } from "./decisions.ts"
import { withIdentity } from "./identity.ts"
import { CLONE_SECTION, visibleExports } from "./marker.ts"
import { engineExports, original } from "./original.ts"

/** Instances of one module that are counted: a program that makes more of them makes them all alike. */
const maximumInstances = 1024

/** A module that counts. */
interface Counted {
  readonly sha256: string
  readonly bytes: number
  readonly from: string | undefined
  readonly functions: ReadonlyArray<FunctionCounters>
  readonly names: ReadonlyMap<number, string>
  /** Of each instance. */
  readonly counters: Array<WebAssembly.Memory>
}

const sha256 = (bytes: Uint8Array): string => process.getBuiltinModule("node:crypto").hash("sha256", bytes, "hex")

/** The counting copy, with what instances are known by, and what hides its exports. */
const countingCopy = (bytes: Uint8Array, identity: bigint) => {
  const decoded = decodeModule(bytes)
  if (decoded.exports.some(({ name }) => name.startsWith(hiddenPrefix))) return undefined
  const { bytes: counting, functions } = instrument(decoded)
  const numbered = withIdentity(counting, identity)
  const customs = [sectionName, CLONE_SECTION].map((name) => ({ name, data: new Uint8Array(1) }))
  const module = emitModule(decodeModule(numbered), { customs })
  return original.validate(module) ? { module, functions, names: decoded.functionNames } : undefined
}

/** The counters of several instances of a module, added up. */
const added = (counters: ReadonlyArray<WebAssembly.Memory>): ArrayBuffer => {
  const sum = new BigUint64Array(counters[0].buffer.byteLength / 8)
  for (const { buffer } of counters) new BigUint64Array(buffer).forEach((count, word) => void (sum[word] += count))
  return sum.buffer
}

/**
 * The profiles of one thread.
 *
 * @category models
 * @since 0.1.0
 */
export class Profiling implements Substitution {
  readonly #folder: string
  readonly #modules = new Map<bigint, Counted>()

  /** Files go into a folder, `SHA-256.json` each. */
  constructor(folder: string) {
    this.#folder = Path.resolve(folder)
  }

  substitute(bytes: Uint8Array, from: string | undefined): Uint8Array | undefined {
    const identity = BigInt.asIntN(64, checksum([bytes]))
    const copy = countingCopy(bytes, identity)
    if (copy === undefined) return undefined
    const { functions, module, names } = copy
    if (!this.#modules.has(identity)) {
      const counted = { sha256: sha256(bytes), bytes: bytes.length, from, functions, names, counters: [] }
      this.#modules.set(identity, counted)
    }
    return module
  }

  /** A module of another thread is not known here: its instances count for nobody. */
  adopt(): void {}

  bind(instance: WebAssembly.Instance, identity: bigint): WebAssembly.Exports {
    const exports = engineExports(instance)
    const counters = this.#modules.get(identity)?.counters
    if (counters !== undefined && counters.length < maximumInstances) {
      counters.push(exports[COUNTERS_EXPORT] as WebAssembly.Memory)
    }
    return visibleExports(exports)
  }

  /** Writes a file for each module that was used, and a line about it on stderr. */
  write(): void {
    for (const counted of this.#modules.values()) if (counted.counters.length > 0) this.#write(counted)
  }

  #write({ bytes, counters, from, functions, names, sha256 }: Counted): void {
    const name = from ?? "module"
    const file = Path.join(this.#folder, `${sha256}${isMainThread ? "" : `.thread-${threadId}`}.json`)
    try {
      const profile = readProfile(functions, added(counters))
      Fs.mkdirSync(this.#folder, { recursive: true })
      Fs.writeFileSync(file, `${JSON.stringify(profileDocument({ name, bytes, sha256 }, names, profile), null, 1)}\n`)
      say(`folio: ${name}: ${profile.instructions.toLocaleString("en")} instructions, written to ${file}`)
    } catch (error) {
      say(`folio: the profile of ${name} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

const say = (line: string): void => {
  try {
    Fs.writeSync(2, `${line}\n`)
  } catch {
    // Nobody reads stderr.
  }
}
