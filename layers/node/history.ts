/**
 * What was learnt of a module in earlier runs: whether handing out its loops pays.
 *
 * One small file a module beside the cache's entries, `history/<name of the entry>`, written when a thread ends and read
 * before the entry itself. A module whose loops gained next to nothing in a second of its program's time, or that
 * a trial has shown to gain nothing (`src/lane/trial.ts`), is not patched for a while: it is then the original code with
 * nothing in front of its loops, and starts as fast. Of a module for which lanes pay, only the loops that were handed
 * out are patched for a while. An hour at first, four times as long each time, a week at most; programs change.
 *
 * @since 0.1.0
 */

// Asked for, not imported: the module of `node:fs` that `import` makes loads what nobody here needs.
const Fs = process.getBuiltinModule("node:fs")
const Path = process.getBuiltinModule("node:path")

/** Busy milliseconds of a program that say enough. */
const enoughMs = 1_000

/** Share of them that must be gained. */
const leastShare = 0.03

/** Milliseconds for which a module is not patched. */
const firstPauseMs = 3_600_000
const longestPauseMs = 7 * 24 * 3_600_000

/**
 * What is known of a module.
 *
 * @category models
 * @since 0.1.0
 */
export interface History {
  /** Milliseconds in which threads with the module were busy, and those that its loops gained, since the last verdict. */
  readonly busyMs: number
  readonly gainedMs: number
  /** The last verdict: `undefined`, there was none. */
  readonly pays: boolean | undefined
  /** Moment (ms since 1970) until which the verdict holds, and how many equal ones there were in a row. */
  readonly until: number
  readonly pauses: number
  /** Where lanes pay: offsets of the loops that were handed out, rising. */
  readonly loops: ReadonlyArray<number>
  /** `PreparationSummary` of the module as JSON, for reports. */
  readonly summary: string | undefined
}

/**
 * What one run has to say.
 *
 * @category models
 * @since 0.1.0
 */
export interface Observed {
  readonly busyMs: number
  readonly gainedMs: number
  /** The verdict of a trial. */
  readonly pays: boolean | undefined
  /** Offsets of the loops that were handed out, rising; `undefined`: not all were patched, so that nobody knows. */
  readonly loops: ReadonlyArray<number> | undefined
  readonly summary: string | undefined
}

/**
 * Whether lanes paid for any of the instances of a module; `undefined`: none was judged.
 *
 * @category learning
 * @since 0.1.0
 */
export const paysOf = (instances: ReadonlyArray<{ readonly pays: boolean | undefined }>): boolean | undefined =>
  instances.some(({ pays }) => pays === true) || instances.find(({ pays }) => pays === false)?.pays

const nothing: History = {
  busyMs: 0,
  gainedMs: 0,
  pays: undefined,
  until: 0,
  pauses: 0,
  loops: [],
  summary: undefined
}

/**
 * A history with one run more.
 *
 * @param now milliseconds since 1970
 * @category learning
 * @since 0.1.0
 */
export const learn = (history: History | undefined, observed: Observed, now: number): History => {
  const before = history ?? nothing
  const busyMs = before.busyMs + observed.busyMs
  const gainedMs = before.gainedMs + observed.gainedMs
  const { summary } = observed
  const verdict = observed.pays ?? (busyMs >= enoughMs && gainedMs < leastShare * busyMs ? false : undefined)
  // Loops that were chosen before are not judged anew.
  if (verdict === undefined || (verdict && observed.loops === undefined)) {
    return { ...before, busyMs, gainedMs, summary }
  }
  const pauses = before.pays === verdict ? before.pauses + 1 : 1
  const until = now + Math.min(longestPauseMs, firstPauseMs * 4 ** (pauses - 1))
  return { busyMs: 0, gainedMs: 0, summary, pays: verdict, until, pauses, loops: verdict ? observed.loops! : [] }
}

const isHistory = (value: unknown): value is History => {
  const history = value as Partial<Record<keyof History, unknown>> | null
  return typeof history === "object" && history !== null &&
    [history.busyMs, history.gainedMs, history.until, history.pauses].every(Number.isFinite) &&
    Array.isArray(history.loops) && history.loops.every(Number.isFinite)
}

/**
 * The histories of a cache.
 *
 * @category models
 * @since 0.1.0
 */
export class Histories {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** What is known of the module with this entry; a file that cannot be read is none. */
  read(name: string): History | undefined {
    try {
      const value: unknown = JSON.parse(Fs.readFileSync(Path.join(this.#directory, name), "utf8"))
      return isHistory(value) ? value : undefined
    } catch {
      return undefined
    }
  }

  /** Keeps what is known; where the directory refuses, nothing was learnt. */
  write(name: string, history: History): void {
    const unfinished = Path.join(this.#directory, `.${process.pid}.${Math.random().toString(36).slice(2)}`)
    try {
      Fs.mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      Fs.writeFileSync(unfinished, JSON.stringify(history), { mode: 0o600 })
      Fs.renameSync(unfinished, Path.join(this.#directory, name))
    } catch {
      // The next run learns it again.
    }
  }
}
