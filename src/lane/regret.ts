/**
 * What handing out one loop has cost and not brought back: the regret.
 *
 * Whatever is tried may lose: a lane whose core is taken, a lane that has to be woken, a chunk that is undone. A loss is a
 * debt, which gains pay, and the loop's own native time pays it off, a small share of it at a time. Where the debt gets too large, or the
 * loop is to rest anyway, it rests until its debt is paid, so that over any {@link WINDOW_MS} no more than 1 % of the
 * loop's native time is lost: half of that by the rate at which debt is paid, the rest by what may still be owed.
 *
 * Times are in milliseconds.
 *
 * @since 0.1.0
 */

/** Over which the bound holds. @category constants @since 0.1.0 */
export const WINDOW_MS = 2_000

/** Share of native time that pays for losses. */
const SHARE = 0.005

/** Debt with which a loop that runs all the time is still handed out. */
const MOST_DEBT_MS = 3

/** Gains that are remembered: a loop that gains is not left alone because a lane was late once. */
const MOST_CREDIT_MS = 40

/** Time after which an estimate of how much of the time the loop runs is worth more than the one before. */
const SETTLED_MS = 100

/**
 * The account of one loop.
 *
 * @category models
 * @since 0.1.0
 */
export class Regret {
  #debt = 0
  #since: number | undefined
  #seen = 0
  #before = 1

  /** Notes that the loop comes by with so much work, in which it pays for what it has lost. */
  observe(workMs: number, now: number): void {
    this.#since ??= now
    if (now - this.#since > WINDOW_MS) {
      this.#before = this.duty(now)
      this.#since = now
      this.#seen = 0
    }
    this.#seen += workMs
    if (this.#debt > 0) this.#debt = Math.max(0, this.#debt - SHARE * workMs)
  }

  /** Share of the time in which the loop runs, as far as it was seen. */
  duty(now: number): number {
    const passed = now - (this.#since ?? now)
    const own = passed > 0 ? Math.min(1, this.#seen / passed) : 1
    return passed < SETTLED_MS ? Math.min(this.#before, own) : own
  }

  /** Notes a gain, which pays for losses before and after it. */
  gain(ms: number): void {
    this.#debt = Math.max(-MOST_CREDIT_MS, this.#debt - ms)
  }

  /** Notes a loss; true when there have been too many. */
  lose(ms: number, now: number): boolean {
    this.#debt += ms
    return this.#debt > MOST_DEBT_MS * this.duty(now)
  }

  /** Begins to estimate how much of the time the loop runs: what was seen until now was guessed. */
  forget(): void {
    this.#since = undefined
    this.#seen = 0
    this.#before = 1
  }

  /** Milliseconds in which the loop pays what it owes when it runs natively; it then owes nothing. */
  rest(now: number): number {
    const duty = Math.max(1e-3, this.duty(now))
    const ms = Math.max(0, this.#debt) / (SHARE * duty)
    this.#debt = 0
    // Nothing is seen of a loop that rests.
    this.#before = duty
    this.#since = undefined
    this.#seen = 0
    return ms
  }
}
