/**
 * Whether handing loops out pays for the program, judged for all loops of an instance together.
 *
 * The clock of one loop does not see what its lanes cost the code behind it: bytes that are in another core's cache, a
 * processor that the engine's own threads wanted. So what a loop gains by its own clock counts for a hint:
 *
 * ```text
 * watching ── as much gained as the program takes ─→ paying ── some time later, gains less ─→ watching
 *    │   └─── next to nothing gained ───────────────────────────────────────────→ resting ─→ watching
 *    └─────── in between ─→ trying: with and without lanes in turns ── faster ─→ paying
 *                                                                   └─ not ────→ resting
 * ```
 *
 * A trial compares how fast the program comes along: units of work of the loop that gained most, a millisecond of
 * the thread's busy time, in stretches with lanes and without. A stretch begins and ends with an execution of that
 * loop, and the order with, without, without, with cancels what drifts.
 *
 * @since 0.1.0
 */

/** Milliseconds of busy time that are watched, and how often before anything but good is said: the first time has costs of its own. */
const WATCHED_MS = 1_000
const WATCHES = 2

/**
 * Share of the busy time that must be gained for a verdict without a trial: the program then takes half as long. Trials
 * have shown that of claims of 15 and of 60 % nothing was true.
 */
const SURE_SHARE = 1

/** Share below which no trial is worth it. */
const IDLE_SHARE = 0.03

/** Busy milliseconds of a stretch, and executions in it, at least. */
const STRETCH_MS = 60
const STRETCH_EXECUTIONS = 4

/** Pairs of stretches: after so many a clear result ends the trial, after so many any. */
const CLEAR_PAIRS = 3
const ALL_PAIRS = 8

/** How much faster each pair must be for a clear result, and the median of all pairs for any. */
const CLEARLY_FASTER = 1.05
const FASTER = 1.02

/** Busy milliseconds after which a trial ends with what there is. */
const LONGEST_TRIAL_MS = 10_000

/** Rest of an instance for which lanes do not pay (ms): three times as long each time. */
const FIRST_REST_MS = 20_000
const LONGEST_REST_MS = 600_000

/** Busy milliseconds for which a verdict of a trial is good; three times as long each time. */
const FIRST_TRUST_MS = 60_000

/**
 * What is found of an instance so far.
 *
 * @category models
 * @since 0.1.0
 */
export type TrialState = "watching" | "trying" | "paying" | "resting"

interface Stretch {
  readonly apart: boolean
  readonly start: number
  executions: number
  units: number
}

/**
 * Watches one instance. Times are milliseconds in which the thread was busy, on a clock that stands still while it waits
 * for events.
 *
 * @category models
 * @since 0.1.0
 */
export class ProgramTrial {
  #state: TrialState = "watching"
  #since: number | undefined
  #watches = 0
  #gained = 0
  readonly #byPlan = new Map<number, number>()
  #anchor = -1
  #trialStart = 0
  #stretch: Stretch | undefined
  #rates: Array<number> = []
  #ratios: Array<number> = []
  #rests = 0
  #trusted = 0
  #trustedUntil = 0
  #pays: boolean | undefined

  get state(): TrialState {
    return this.#state
  }

  /** Whether lanes pay, as far as it was judged; `undefined`: it was not. */
  get pays(): boolean | undefined {
    return this.#pays
  }

  /** Trusts an earlier verdict that lanes pay. */
  trust(busy: number): void {
    this.#pay(busy)
    this.#trusted = FIRST_TRUST_MS
    this.#trustedUntil = busy + this.#trusted
  }

  /**
   * Whether the next execution of a loop may be handed out; to be asked with every one that could be.
   *
   * @param busy milliseconds
   */
  admits(plan: number, units: number, busy: number): boolean {
    if (this.#state === "resting") return false
    this.#since ??= busy
    if (this.#state === "trying") return this.#try(plan, units, busy)
    if (this.#state === "paying" && busy < this.#trustedUntil) return true
    const watched = busy - this.#since
    if (watched < WATCHED_MS) return true
    const share = this.#gained / watched
    if (share >= SURE_SHARE) this.#pay(busy)
    else if (++this.#watches < WATCHES) this.#watch(busy)
    else if (share >= IDLE_SHARE) this.#begin(busy)
    else this.#rest()
    return this.#watches > 0 || this.#pays !== false
  }

  /** Notes what a loop gained by its own clock (ms); below 0: lost. */
  gained(plan: number, ms: number): void {
    this.#gained += ms
    this.#byPlan.set(plan, (this.#byPlan.get(plan) ?? 0) + ms)
  }

  /** Milliseconds of the rest that has begun. */
  get restMs(): number {
    return Math.min(LONGEST_REST_MS, FIRST_REST_MS * 3 ** (this.#rests - 1))
  }

  /** Ends a rest. */
  resume(): void {
    if (this.#state === "resting") this.#watch(undefined)
  }

  #watch(busy: number | undefined): void {
    this.#state = "watching"
    this.#since = busy
    this.#gained = 0
    this.#byPlan.clear()
  }

  #pay(busy: number): void {
    this.#watch(busy)
    this.#watches = 0
    this.#state = "paying"
    this.#pays = true
    this.#rests = 0
  }

  #rest(): void {
    this.#state = "resting"
    this.#watches = 0
    this.#pays = false
    this.#rests++
  }

  #begin(busy: number): void {
    this.#state = "trying"
    this.#watches = 0
    this.#trialStart = busy
    this.#stretch = undefined
    this.#rates = []
    this.#ratios = []
    this.#anchor = [...this.#byPlan].reduce((best, one) => one[1] > best[1] ? one : best)[0]
  }

  #try(plan: number, units: number, busy: number): boolean {
    if (busy - this.#trialStart > LONGEST_TRIAL_MS) return this.#decide(busy)
    if (plan !== this.#anchor) return this.#stretch?.apart ?? true
    const stretch = this.#stretch
    if (stretch === undefined) {
      this.#stretch = { apart: true, start: busy, executions: 1, units }
      return true
    }
    if (busy - stretch.start < STRETCH_MS || stretch.executions < STRETCH_EXECUTIONS) {
      stretch.executions++
      stretch.units += units
      return stretch.apart
    }
    const { length } = this.#rates
    this.#rates.push(stretch.units / (busy - stretch.start))
    // With, without, without, with: an odd stretch ends a pair.
    if (length % 2 === 1) {
      const [first, second] = this.#rates.slice(-2)
      this.#ratios.push(length % 4 === 1 ? first / second : second / first)
      const { length: pairs } = this.#ratios
      const clear = pairs >= CLEAR_PAIRS &&
        (this.#ratios.every((ratio) => ratio >= CLEARLY_FASTER) || this.#ratios.every((ratio) => ratio <= 1))
      if (clear || pairs >= ALL_PAIRS) return this.#decide(busy)
    }
    const apart = (length + 1) % 4 === 0 || (length + 1) % 4 === 3
    this.#stretch = { apart, start: busy, executions: 1, units }
    return apart
  }

  #decide(busy: number): boolean {
    const sorted = this.#ratios.toSorted((a, b) => a - b)
    const median = sorted[sorted.length >> 1] ?? 0
    if (median >= FASTER) {
      this.#pay(busy)
      this.#trusted = this.#trusted === 0 ? FIRST_TRUST_MS : 3 * this.#trusted
      this.#trustedUntil = busy + this.#trusted
    } else this.#rest()
    return this.#state === "paying"
  }
}
