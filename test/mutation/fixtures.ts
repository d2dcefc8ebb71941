/**
 * The fixtures of this folder: a module each, calls under which it runs apart, and calls for which one obligation alone
 * keeps it right.
 */
import { readdirSync, readFileSync } from "node:fs"
import type { Obligation } from "../../src/plan/types.ts"
import type { GuestCall } from "../support/differential.ts"

/** A kind of obligation; captured values are told apart by their source. */
export type ObligationKind =
  | Exclude<Obligation["kind"], "captured-input">
  | `captured-input of a ${Extract<Obligation, { kind: "captured-input" }>["source"]}`

/** The kind of an obligation. */
export const kindOf = (obligation: Obligation): ObligationKind =>
  obligation.kind === "captured-input" ? `captured-input of a ${obligation.source}` : obligation.kind

/** How a module is run so that an obligation counts. */
export interface Fixture {
  readonly kind: ObligationKind
  readonly module: string
  /** Runs apart with everything in place. */
  readonly apart: ReadonlyArray<ReadonlyArray<number>>
  /** Differs in an ending or a byte when the obligation is dropped, and not otherwise. */
  readonly kills: ReadonlyArray<ReadonlyArray<number>>
  /** Contents of memory by byte: words, little-endian. */
  readonly words: (byte: number) => number
  /** What drops the obligation: `prepare` leaves it out, or lanes do not keep to it. */
  readonly drop: "omit" | "forgive" | "late" | "omit, on lanes"
}

const folder = new URL("fixtures/", import.meta.url)

/** Names of the modules, without extension. */
export const fixtureNames = (): ReadonlyArray<string> =>
  readdirSync(folder).filter((file) => file.endsWith(".wat")).map((file) => file.slice(0, -".wat".length)).sort()

/** Where a fixture's text or bytes are. */
export const fixtureFile = (name: string, extension: "wat" | "wasm"): URL => new URL(`${name}.${extension}`, folder)

/** A fixture's text. */
export const fixtureText = (name: string): string => readFileSync(fixtureFile(name, "wat"), "utf8")

/** A fixture's committed bytes. */
export const fixtureBytes = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(fixtureFile(name, "wasm")))

const noise = (byte: number): number => Math.imul(byte + 1, 0x9e3779b1)
const zero = (): number => 0

/** A call of a fixture. */
export const callOf = (args: ReadonlyArray<number>): GuestCall => ({ name: "run", args })

/**
 * One fixture at least for each kind, which the tests demand.
 *
 * Two kinds need a word. *invariant-load*: that no iteration stores over the load is what `disjoint` of its group says,
 * and that it is not behind the end of memory what `in-bounds` says, where it is executed at all. Its own part is the
 * load that no iteration executes: the guard, which evaluates it, must not trap. *exact-trip*: of the split loop itself
 * it could be dropped, for a count that is too small only leaves more to the original loop; of an inner loop, through
 * which a pointer advances, it cannot.
 */
export const FIXTURES: ReadonlyArray<Fixture> = [
  {
    kind: "captured-input of a local",
    module: "captured-local",
    apart: [[1024, 40, 99]],
    kills: [[1024, 40, 99]],
    words: zero,
    drop: "omit"
  },
  {
    kind: "captured-input of a global",
    module: "captured-global",
    apart: [[1024, 40]],
    kills: [[1024, 40]],
    words: zero,
    drop: "omit"
  },
  {
    kind: "captured-input of a memory-size",
    module: "captured-memory-size",
    apart: [[1024, 40]],
    kills: [[1024, 40]],
    words: zero,
    drop: "omit"
  },
  {
    kind: "exact-trip",
    module: "exact-trip",
    apart: [[1024, 40, 0x1000_0000, 0x3000_0000], [1024, 40, 1, 5]],
    kills: [[1024, 40, 0x6000_0000, 0xe000_0000]],
    words: zero,
    drop: "omit"
  },
  {
    kind: "in-bounds",
    module: "in-bounds",
    apart: [[1024, 40], [65_536 - 160, 40]],
    kills: [[65_536 - 160, 43], [65_536 - 151, 40]],
    words: zero,
    drop: "omit"
  },
  { kind: "no-wrap", module: "no-wrap", apart: [], kills: [[1024, 40]], words: zero, drop: "omit" },
  {
    kind: "disjoint",
    module: "disjoint",
    apart: [[8192, 1024, 40], [1024, 1024, 40], [8192, 8192 + 164, 40]],
    kills: [[1028, 1024, 40], [1024, 1028, 40], [1025, 1024, 40]],
    words: noise,
    drop: "omit"
  },
  {
    kind: "forwarded",
    module: "forwarded",
    apart: [[1024, 1032, 8192, 40]],
    kills: [[1024, 1024, 8192, 40]],
    words: zero,
    drop: "omit"
  },
  {
    kind: "last-value",
    module: "last-value",
    apart: [[1024, 40], [1024, 4]],
    kills: [[1024, 40], [1024, 4]],
    words: noise,
    drop: "omit"
  },
  {
    kind: "private",
    module: "private",
    apart: [[16_384, 32_768, 20_000], [40_960 - 4, 40_960, 20_000]],
    // The word lies behind the array, whose last elements are on its page.
    kills: [[16_384 + 80_004, 16_384, 20_000]],
    words: noise,
    drop: "omit, on lanes"
  },
  {
    kind: "written-before-read",
    module: "written-before-read",
    apart: [[8192, 40, 20, 20], [8192, 40, 20, 7]],
    kills: [[8192, 40, 10, 20]],
    words: zero,
    drop: "omit"
  },
  {
    // The row is written for an odd v only; the byte in it that is written behind the reads, for an even one.
    kind: "written-before-read",
    module: "written-when-odd",
    apart: [[8192, 40, 1]],
    kills: [[8192, 40, 0]],
    words: zero,
    drop: "omit"
  },
  {
    kind: "invariant-load",
    module: "invariant-load",
    apart: [[256, 1024, 40, 0], [256, 1024, 40, 1]],
    kills: [[65_533, 1024, 40, 0], [0x7fff_fff0, 1024, 40, 0]],
    words: (byte) => byte === 256 ? 8192 : noise(byte),
    drop: "omit"
  },
  {
    kind: "safe-divisor",
    module: "safe-divisor",
    apart: [[8192, 1024, 40, 7]],
    kills: [[8192, 1024, 40, 0], [8192, 1024, 40, -1]],
    words: (byte) => byte === 1024 + 4 * 20 ? -0x8000_0000 : noise(byte) | 1,
    drop: "omit"
  },
  {
    // The table holds the number of the word before the one that its iteration stores to.
    kind: "checked-load",
    module: "checked-load",
    apart: [[8192, 32_768, 1024, 40], [8192, 0, 2048, 40]],
    kills: [[8192, 8192, 1024, 40]],
    words: (byte) => byte >= 1024 && byte < 2048 ? Math.max(0, (byte - 1024) / 4 - 1) : noise(byte) & 1023,
    drop: "omit"
  },
  {
    kind: "discard-on-abort",
    module: "discard-on-abort",
    apart: [[8192, 1024, 40]],
    kills: [[8192, 2048, 40], [8192, 2048 - 9, 40]],
    words: (byte) => byte === 2048 ? 0x0101_0100 : 0x0101_0101,
    drop: "forgive"
  },
  {
    kind: "joined-before-use",
    module: "joined-before-use",
    apart: [[1024, 40]],
    kills: [[1024, 40]],
    words: noise,
    drop: "late"
  },
  {
    kind: "reduction",
    module: "reduction",
    apart: [[1024, 40, 0], [1024, 200, -7]],
    kills: [[1024, 40, 0], [1024, 40, -7]],
    words: noise,
    drop: "omit"
  }
]

/** Memory of a fixture before a call. */
export const imageOf = (fixture: Fixture, bytes: number): Uint8Array => {
  const words = Int32Array.from({ length: bytes / 4 }, (_, at) => fixture.words(4 * at))
  return new Uint8Array(words.buffer)
}
