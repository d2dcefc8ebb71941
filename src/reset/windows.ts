/**
 * Which stores of loops are marked by a window: the range of bytes that such a store has marked last.
 *
 * A store whose address lies in it needs no mark, which a comparison and a branch find out; that is cheaper than a mark
 * where addresses advance evenly, so that thousands of stores fall into one window, or stay in a small table. Where they
 * jump about, the branch would be mispredicted, and a mark each time is better. All of this is a guess about speed: a
 * window that is chosen wrongly marks as well as any.
 *
 * @since 0.1.0
 */
import { RESET_PAGE } from "./layout.ts"
import { WRITE_BYTES } from "./writes.ts"

/** Windows of one function, each a local that lives as long as it, and of one loop, where each is a register. */
const MAXIMUM_WINDOWS = 8
const LOOP_WINDOWS = 2

/** Bytes of a table all of which a window around any of its elements holds. */
const TABLE_BYTES = RESET_PAGE / 2 - WRITE_BYTES

/**
 * A value that the walk over a function knows as `root + constant`, modulo 2³².
 *
 * @category models
 * @since 0.1.0
 */
export interface Value {
  readonly root: number
  readonly constant: number
  /** A local that had this root when the value was read. */
  readonly local: number | undefined
  /** Locals from which it was computed, and by how much it can jump besides: `Infinity` for a wild value. */
  readonly dependencies: ReadonlyArray<number>
  readonly spread: number
  /** The straight piece of code in which it was computed. */
  readonly piece: number
}

/**
 * What one loop does to the locals that it assigns.
 *
 * @category models
 * @since 0.1.0
 */
export interface Loop {
  readonly assigned: ReadonlySet<number>
  readonly assignments: Array<{ readonly local: number; readonly value: Value }>
}

/**
 * A store in a loop, by the offset of its instruction, with the innermost loop around it and its address.
 *
 * @category models
 * @since 0.1.0
 */
export interface Candidate {
  readonly at: number
  readonly loop: Loop
  readonly value: Value
}

/**
 * A window: its number in the function, and whether addresses spread around the first one, as in a table, instead of
 * advancing.
 *
 * @category models
 * @since 0.1.0
 */
export interface Window {
  readonly window: number
  readonly around: boolean
}

/** The locals of a loop that advance evenly: assigned from such ones and constants alone. */
const evenLocals = ({ assigned, assignments }: Loop): ReadonlySet<number> => {
  const even = new Set(assigned)
  for (let before = -1; before !== even.size;) {
    before = even.size
    for (const { local, value } of assignments) {
      if (value.spread !== 0 || value.dependencies.some((other) => assigned.has(other) && !even.has(other))) {
        even.delete(local)
      }
    }
  }
  return even
}

/**
 * Windows of the stores for which one pays, by the offset of the instruction: addresses advance evenly, or stay in a
 * table.
 *
 * @category analysis
 * @since 0.1.0
 */
export const chooseWindows = (candidates: ReadonlyArray<Candidate>): ReadonlyMap<number, Window> => {
  const loops = new Map<Loop, { readonly even: ReadonlySet<number>; readonly windows: Map<string, number> }>()
  const chosen = new Map<number, Window>()
  let count = 0
  for (const { at, loop, value } of candidates) {
    if (value.spread > TABLE_BYTES) continue
    const known = loops.get(loop) ?? { even: evenLocals(loop), windows: new Map<string, number>() }
    loops.set(loop, known)
    if (value.dependencies.some((local) => loop.assigned.has(local) && !known.even.has(local))) continue
    const around = value.spread > 0
    const key = [around, ...value.dependencies.toSorted((a, b) => a - b)].join()
    const window = known.windows.get(key) ?? count
    if (window === count) {
      if (count === MAXIMUM_WINDOWS || known.windows.size === LOOP_WINDOWS) continue
      known.windows.set(key, count++)
    }
    chosen.set(at, { window, around })
  }
  return chosen
}
