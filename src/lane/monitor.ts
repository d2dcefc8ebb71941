/**
 * The profit monitor of one planned loop: whether the next execution is handed out, learnt from what earlier ones took.
 *
 * Times are in nanoseconds, work in units (about one instruction each). A loop is handed out when the predicted gain
 * exceeds what forking and joining cost; one that turns out not to gain is suspended, three times as long each time, and
 * in any case until its native time has paid for what it lost (`regret.ts`).
 *
 * @since 0.1.0
 */
import { Regret, WINDOW_MS } from "./regret.ts"

/**
 * Constants of the policy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  /** Least work of one execution that is handed out; 0 admits all, and skips every other test of profit. */
  readonly minimumWorkNs: number
  /** Cost of fork and join when lanes poll. */
  readonly hotNs: number
  /** Cost of fork and join when lanes sleep. */
  readonly coldNs: number
  /** Work seen in a loop before its chunk module is compiled, and as much again for each of its instructions. */
  readonly evidenceNs: number
  readonly evidenceNsEach: number
  /** First suspension of a loop that does not gain; each is three times the last, {@link Policy.longestSuspensionMs} at most. */
  readonly suspensionMs: number
  readonly longestSuspensionMs: number
}

/**
 * Defaults. The fork costs are this project's measurements with a margin (results/latency); the work estimate that
 * they are compared with is within a factor of two before the first timing, exact afterwards.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultPolicy: Policy = {
  minimumWorkNs: 20_000,
  hotNs: 4_000,
  coldNs: 80_000,
  evidenceNs: 2_000_000,
  evidenceNsEach: 20_000,
  suspensionMs: 100,
  longestSuspensionMs: 20_000
}

/** Nanoseconds of a unit before anything was timed: three instructions in a cycle of a 3 GHz core, halved for memory. */
const FIRST_GUESS_NS = 0.2

/** Timings of one thread alone before the first hand-out, and hand-outs between two further ones. */
const FIRST_TIMINGS = 2
const REFRESH_EVERY = 48

/** Loops up to this long (ns) are timed as a whole, longer ones by a piece. */
const WHOLE_NS = 4_000_000

/** Executions handed out in a row that must disappoint before the loop is suspended. */
const STRIKES = 3

/** An execution has ended early when it took less than this part of what the guard said, and how many in a row tell. */
const EARLY = 8
const EARLY_PATIENCE = 8

/** Executions in a row that are left to sleeping lanes before these are woken once: they may then stay awake. */
const COLD_PATIENCE = 64

/**
 * A gain below this is none. Short loops need more: what a lane has written is in its core's cache, and the owner pays for
 * that later, where no clock of this loop sees it.
 */
const LEAST_GAIN = 1.1
const LEAST_GAIN_SHORT = 1.3

/** The same where chunks compare loads with stores: one thread alone was timed with the comparisons, too. */
const LEAST_GAIN_CHECKED = 1.5
const SHORT_NS = 1_000_000

/**
 * Why an execution was not handed out.
 *
 * @category models
 * @since 0.1.0
 */
export type Declined = "small" | "cold" | "suspended" | "evidence"

/**
 * Learning state of one planned loop.
 *
 * @category models
 * @since 0.1.0
 */
export class ProfitMonitor {
  readonly #policy: Policy
  /** Measured nanoseconds of a unit on one thread, exponentially smoothed. */
  #serialNs: number | undefined
  #evidence = 0
  #strikes = 0
  #runs = 0
  #timings = 0
  #nextTiming = 0
  #cold = 0
  readonly #needed: number
  readonly #leastGain: number
  #suspensions = 0
  #suspendedUntil = 0
  readonly #regret = new Regret()

  readonly #mayEndEarly: boolean
  /** The newest execution that was left to the guest: when it began (ms) and how long it was taken to be. */
  #lastMs = 0
  #lastNs = 0
  #early = 0

  /**
   * `instructions`: size of the loop; `checked`: whether its chunks compare loads with stores; `mayEndEarly`: whether it
   * may do less than the guard says.
   */
  constructor(policy: Policy, instructions: number, checked: boolean, mayEndEarly: boolean) {
    this.#leastGain = checked ? LEAST_GAIN_CHECKED : LEAST_GAIN
    this.#policy = policy
    this.#mayEndEarly = mayEndEarly
    this.#needed = policy.evidenceNs + policy.evidenceNsEach * instructions
  }

  /** Expected nanoseconds of `units` on one thread. */
  expect(units: number): number {
    return units * (this.#serialNs ?? FIRST_GUESS_NS)
  }

  /** Moment (ms) until which the loop stays native. */
  get suspendedUntil(): number {
    return this.#suspendedUntil
  }

  /** What of the next execution one thread alone should be timed by. */
  timing(units: number): "whole" | "piece" | undefined {
    if (this.#timings >= FIRST_TIMINGS && this.#runs < this.#nextTiming) return undefined
    return this.expect(units) <= WHOLE_NS && this.#policy.minimumWorkNs > 0 ? "whole" : "piece"
  }

  /** Nanoseconds of a unit as measured, for reports. */
  get serialNs(): number | undefined {
    return this.#serialNs
  }

  /**
   * Adds work that was seen; true when there is enough of it to prepare for hand-outs. A loop that may end early has
   * done no more than there was time for since it last came by.
   */
  observe(units: number, nowMs: number): boolean {
    const expected = this.expect(units)
    let seen = expected
    if (this.#mayEndEarly) {
      const passed = (nowMs - this.#lastMs) * 1e6
      seen = Math.min(this.#lastNs, passed)
      this.#early = passed * EARLY < this.#lastNs ? this.#early + 1 : 0
      this.#lastMs = nowMs
      this.#lastNs = expected
    }
    this.#evidence += seen
    this.#regret.observe(seen / 1e6, nowMs)
    return this.#evidence >= this.#needed || this.#policy.minimumWorkNs === 0
  }

  /** True when the loop has ended far earlier than the guard said several times in a row. It is suspended then. */
  endsEarly(nowMs: number): boolean {
    if (this.#early < EARLY_PATIENCE || this.#policy.minimumWorkNs === 0) return false
    this.#early = 0
    this.suspend(nowMs)
    return true
  }

  /** Work seen so far. */
  get evidence(): number {
    return this.#evidence
  }

  /** Why an execution of `units` should stay native now, or `undefined`. */
  decline(units: number, width: number, hot: boolean, nowMs: number): Declined | undefined {
    const { coldNs, hotNs, minimumWorkNs } = this.#policy
    if (minimumWorkNs === 0) return undefined
    if (nowMs < this.#suspendedUntil) return "suspended"
    const work = this.expect(units)
    if (work < minimumWorkNs) return "small"
    const gain = work * (1 - 1 / width)
    if (gain < 2 * hotNs) return "small"
    if (hot || gain >= 2 * coldNs || ++this.#cold >= COLD_PATIENCE) {
      this.#cold = 0
      return undefined
    }
    return "cold"
  }

  /** True when no execution of this size can be worth it, whatever the lanes do. */
  isSmall(units: number): boolean {
    return this.#policy.minimumWorkNs > 0 && this.expect(units) < this.#policy.minimumWorkNs
  }

  /** A timing of one thread alone. */
  timed(units: number, ns: number): void {
    if (units <= 0 || ns <= 0) return
    const one = ns / units
    if (this.#timings === 0) this.#regret.forget()
    this.#timings++
    // Lanes fall asleep meanwhile; that is no reason to leave the next executions to them.
    this.#cold = COLD_PATIENCE
    this.#nextTiming = this.#runs + REFRESH_EVERY
    this.#serialNs = this.#serialNs === undefined ? one : 0.7 * this.#serialNs + 0.3 * one
  }

  /** An execution that was handed out took `ns`; `woken`: to lanes that slept, which says little about the next one. */
  handedOut(units: number, ns: number, nowMs: number, woken: boolean): void {
    this.#runs++
    this.#lastNs = 0
    if (this.#policy.minimumWorkNs === 0) return
    const alone = this.expect(units)
    if (ns <= alone) this.#regret.gain((alone - ns) / 1e6)
    else if (this.#regret.lose((ns - alone) / 1e6, nowMs)) return this.suspend(nowMs)
    if (alone >= ns * Math.max(this.#leastGain, alone < SHORT_NS ? LEAST_GAIN_SHORT : 1)) {
      this.#strikes = 0
      this.#suspensions = Math.max(0, this.#suspensions - 1)
      return
    }
    if (!woken && ++this.#strikes >= STRIKES) this.suspend(nowMs)
  }

  /** An execution that was handed out was undone after `ns`: all of it is lost. */
  undone(ns: number, nowMs: number): void {
    this.#regret.lose(ns / 1e6, nowMs)
    this.suspend(nowMs)
  }

  /** Leaves the loop alone for a while. */
  suspend(nowMs: number): void {
    if (this.#policy.minimumWorkNs === 0) return
    const { longestSuspensionMs, suspensionMs } = this.#policy
    this.#strikes = STRIKES - 1
    const times = 3 ** this.#suspensions++
    // After one long stall a loop that gains otherwise is tried again soon; one that goes on losing is not.
    const paying = Math.min(this.#regret.rest(nowMs), WINDOW_MS * times)
    this.#suspendedUntil = nowMs + Math.max(Math.min(longestSuspensionMs, suspensionMs * times), paying)
  }
}
