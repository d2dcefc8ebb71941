/**
 * Calls of some nanoseconds, of exports with a planned loop and of exports without one.
 */

/**
 * A call; arguments for ranges from an address on.
 *
 * @category models
 * @since 0.1.0
 */
export interface TinyCall {
  readonly name: string
  /** Whether a loop of it is planned: then a test stands in front of it. */
  readonly planned: boolean
  readonly args: (base: number) => ReadonlyArray<number>
}

/** Nanoseconds a call, in rounds. @category models @since 0.1.0 */
export interface TinyTimes {
  readonly nativeA: ReadonlyArray<number>
  readonly nativeB: ReadonlyArray<number>
  readonly folio: ReadonlyArray<number>
}

/** Exports of `loops-o2.wasm`. @category fixtures @since 0.1.0 */
export const TINY_CALLS: ReadonlyArray<TinyCall> = [
  { name: "saxpy", planned: true, args: (base) => [base, base + 4096, 3, 4] },
  { name: "add_u8", planned: true, args: (base) => [base, base + 4096, 8] },
  { name: "stencil", planned: true, args: (base) => [base, base + 4096, 8] },
  { name: "gray", planned: true, args: (base) => [base, base + 4096, 4] },
  { name: "divide_each", planned: true, args: (base) => [base, base + 4096, base + 8, 0] },
  { name: "copy", planned: true, args: (base) => [base, base + 4096, 6] },
  { name: "sum_f64", planned: false, args: (base) => [base, 30] },
  { name: "prefix", planned: false, args: (base) => [base, base + 4096, 30] },
  { name: "recurrence", planned: false, args: (base) => [base, base + 4096, 30] },
  { name: "histogram", planned: false, args: (base) => [base, base + 4096, 30] },
  { name: "search", planned: false, args: (base) => [base, 77, 48] }
]
