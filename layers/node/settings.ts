/**
 * What the environment asks of the drop-in.
 *
 * | variable | values | unset |
 * | --- | --- | --- |
 * | `FOLIO_WORKERS` | threads that work, the program's own counted: 1 to 32 | as many as the machine grants |
 * | `FOLIO_REPORT` | a file for the report as JSON (`%p` is the process id), or `-` for text on stderr | no report |
 * | `FOLIO_PREPARE` | `wait`, `background`, `off`: what happens to a module that is not in the cache | `background` |
 * | `FOLIO_PREPARE_BUDGET_MS` | milliseconds that the analysis of one module may take: 1 to 3,600,000 | 60,000 |
 * | `FOLIO_PREPARE_BUDGET_MIB` | MiB that it may hold: 64 to 65,536 | 1,536 |
 * | `FOLIO_CACHE` | a directory, or `off` | `$XDG_CACHE_HOME/folio`, or `~/.cache/folio` |
 * | `FOLIO_LEARN` | `0`: earlier runs have no say in what is patched | `1` |
 * | `FOLIO_OFF` | `1`: the program runs as if Folio were not there | `0` |
 *
 * An empty value counts as unset. A value that is none of these never stops the program: it is named on stderr and
 * the program runs natively.
 *
 * @since 0.1.0
 */

/**
 * What happens to a module that the cache does not know.
 *
 * - `wait`: it is analysed before it is compiled, as far as the budget of a preparation reaches
 * - `background`: it is analysed at once as far as a budget of a few milliseconds reaches; beyond that it runs natively
 *   and a thread of low priority fills the cache for the next start
 * - `off`: it runs natively
 *
 * @category models
 * @since 0.1.0
 */
export type Preparing = "wait" | "background" | "off"

/**
 * The settings of one process.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  readonly off: boolean
  /** Threads that work, the program's own counted; `undefined`: as many as the machine grants. */
  readonly workers: number | undefined
  /** Where the report goes: `-` is stderr; `undefined`: nowhere. */
  readonly report: string | undefined
  readonly prepare: Preparing
  /** What one preparation may take: milliseconds and bytes. */
  readonly budget: PreparationBudget
  /** A directory, `off`, or `undefined` for the usual place. */
  readonly cache: string | undefined
  /** Whether earlier runs have a say in what is patched. */
  readonly learn: boolean
}

/**
 * What the preparation of one module may take; what it has not seen by then stays serial.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationBudget {
  readonly budgetMs: number
  /** Bytes of heap and buffers. */
  readonly budgetBytes: number
}

/** Bytes in a MiB. */
const MIB = 1024 ** 2

/**
 * What a preparation may take where nothing else is asked for: 60 s and 1.5 GiB.
 *
 * @category constants
 * @since 0.1.0
 */
export const DEFAULT_BUDGET: PreparationBudget = { budgetMs: 60_000, budgetBytes: 1536 * MIB }

/**
 * Settings as read, and one line for each value that is not accepted. With such a line the settings say `off`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadSettings {
  readonly settings: Settings
  readonly problems: ReadonlyArray<string>
}

/**
 * Most threads that {@link Settings.workers} may ask for.
 *
 * @category constants
 * @since 0.1.0
 */
export const MAXIMUM_WORKERS = 32

const preparing: ReadonlyArray<string> = ["wait", "background", "off"] satisfies ReadonlyArray<Preparing>
const switches = new Map([["0", false], ["false", false], ["1", true], ["true", true]])

/**
 * Reads the settings out of an environment.
 *
 * @category parsing
 * @since 0.1.0
 */
export const readSettings = (environment: Readonly<Record<string, string | undefined>>): ReadSettings => {
  const problems: Array<string> = []
  const value = (name: string): string | undefined => environment[name] || undefined
  const refuse = (name: string, text: string, accepted: string): undefined => {
    problems.push(`folio: ${name}=${JSON.stringify(text)} is not accepted (${accepted}); running natively`)
    return undefined
  }

  const flag = (name: string): boolean | undefined => {
    const text = value(name)
    return text === undefined ? undefined : switches.get(text) ?? refuse(name, text, "0, 1, false, true")
  }
  const off = flag("FOLIO_OFF")
  const learn = flag("FOLIO_LEARN")

  const prepareText = value("FOLIO_PREPARE")
  const prepare = prepareText === undefined
    ? "background"
    : preparing.includes(prepareText)
    ? prepareText as Preparing
    : refuse("FOLIO_PREPARE", prepareText, preparing.join(", "))

  const whole = (name: string, least: number, most: number): number | undefined => {
    const text = value(name)
    if (text === undefined) return undefined
    const number = Number(text)
    return /^\d+$/.test(text) && number >= least && number <= most
      ? number
      : refuse(name, text, `a whole number from ${least} to ${most}`)
  }
  const workers = whole("FOLIO_WORKERS", 1, MAXIMUM_WORKERS)
  const budgetMs = whole("FOLIO_PREPARE_BUDGET_MS", 1, 3_600_000)
  const budgetMib = whole("FOLIO_PREPARE_BUDGET_MIB", 64, 65_536)

  return {
    settings: {
      off: problems.length > 0 || off === true,
      workers,
      report: value("FOLIO_REPORT"),
      prepare: prepare ?? "off",
      budget: {
        budgetMs: budgetMs ?? DEFAULT_BUDGET.budgetMs,
        budgetBytes: budgetMib === undefined ? DEFAULT_BUDGET.budgetBytes : budgetMib * MIB
      },
      cache: value("FOLIO_CACHE"),
      learn: learn ?? true
    },
    problems
  }
}
