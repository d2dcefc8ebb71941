/**
 * What an analysis may take: time and memory, both measured by the host.
 *
 * @since 0.1.0
 */

/**
 * Limits of one preparation. Each needs the host's measure of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface BudgetOptions {
  /**
   * Milliseconds after which no further loop is analysed: those that were not seen are refused with `budget`, and the
   * plan is marked incomplete. What was begun is ended first, so the time is kept to within one loop.
   */
  readonly budgetMs?: number
  /** A clock in milliseconds, for the budget. */
  readonly now?: () => number
  /** The same for bytes that the analysis holds, as `heap` counts them. */
  readonly budgetBytes?: number
  /** Bytes in use at the moment, for the budget. */
  readonly heap?: () => number
}

/**
 * The budget of one preparation, from its construction on.
 *
 * @category models
 * @since 0.1.0
 */
export class Budget {
  readonly #options: BudgetOptions
  readonly #deadline: number
  #spent: string | undefined

  constructor(options: BudgetOptions) {
    this.#options = options
    const { budgetMs, now } = options
    this.#deadline = budgetMs === undefined || now === undefined ? Infinity : now() + budgetMs
  }

  /** Which limit was reached, in words, as the last {@link ask} found; `undefined`: none. */
  get spent(): string | undefined {
    return this.#spent
  }

  /** Looks whether a limit is reached. Once one is, it stays so. */
  ask(): string | undefined {
    if (this.#spent !== undefined) return this.#spent
    const { budgetBytes = Infinity, budgetMs, heap, now } = this.#options
    if (now !== undefined && now() > this.#deadline) this.#spent = `the analysis had its ${budgetMs} ms before`
    else if (heap !== undefined && heap() > budgetBytes) {
      this.#spent = `the analysis had its ${Math.round(budgetBytes / 1024 ** 2)} MiB before`
    }
    return this.#spent
  }
}
