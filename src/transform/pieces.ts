/**
 * Handing out pieces inside a chunk module, and telling when one is done.
 *
 * @since 0.1.0
 */
import type { InductionVariable } from "../analysis/trip.ts"
import type { ValueType } from "../binary/module.ts"
import type { FrameLayout } from "../plan/frame.ts"
import { MAXIMUM_PIECE, NO_PIECE, Saved, Ticket } from "../plan/frame.ts"
import { Assembler, CONTROL, functionBody } from "./assembler.ts"
import { polynomialNodes } from "./evaluate.ts"

/**
 * Types of a chunk module's own functions, which come first: `run(ticket, piece, out)`, and the function with the loop,
 * `(ticket, first, rest, out)`.
 *
 * @category transforms
 * @since 0.1.0
 */
export const PIECE_TYPES: ReadonlyArray<{ params: ReadonlyArray<ValueType>; results: ReadonlyArray<ValueType> }> = [
  { params: ["i32", "i32", "i32"], results: [] },
  { params: ["i32", "i32", "i32", "i32"], results: [] }
]

/**
 * Body of `run`: takes pieces until none is left, or, where chunks can end early, until one did. Where `keeps` says so,
 * the first word of `out` has the piece that is being run.
 *
 * @category transforms
 * @since 0.1.0
 */
export const claimPieces = (abortable: boolean, keeps: boolean): Uint8Array => {
  const code = new Assembler()
  const [claimed, first, rest] = [3, 4, 5]
  code.block().loop()
  if (abortable) code.get(0).atomic(0x10, CONTROL, Ticket.ABORT).brIf(1)
  code.get(0).i32(1).atomic(0x1e, CONTROL, Ticket.NEXT).tee(claimed)
  code.get(0).access(0x28, CONTROL, Ticket.LIMIT).op(0x4f).brIf(1) // ge_u
  if (keeps) code.get(2).get(claimed).access(0x36, CONTROL)
  code.get(claimed).get(1).op(0x6c).set(first)
  code.get(0).get(first)
  // min(piece, total - first): select keeps the first operand when it is the smaller
  code.get(0).access(0x28, CONTROL, Ticket.TOTAL).get(first).op(0x6b).tee(rest).get(1)
  code.get(rest).get(1).op(0x49).op(0x1b)
  code.get(2).call(1)
  if (keeps) code.get(2).i32(NO_PIECE).access(0x36, CONTROL)
  code.get(0).i32(1).atomic(0x1e, CONTROL, Ticket.FINISHED).op(0x1a)
  code.br(0).end().end()
  return functionBody(["i32", "i32", "i32"], code)
}

/** A step with more trailing zeros could reach the same value twice within a piece. */
const MOST_ZEROS = 31 - Math.clz32(2 ** 32 / MAXIMUM_PIECE)

/** Zero bits below the lowest one; 64 for zero. */
const trailingZeros = (value: bigint): number => {
  let zeros = 0
  for (let rest = BigInt.asUintN(64, value); zeros < 64 && (rest & 1n) === 0n; rest >>= 1n) zeros++
  return zeros
}

/**
 * Whether a variable has another value in each iteration of a piece and behind it: `k·step` is no multiple of 2³² for
 * 0 < k ≤ {@link MAXIMUM_PIECE}.
 *
 * @category transforms
 * @since 0.1.0
 */
export const tellsApart = ({ step, wideStep }: InductionVariable): boolean =>
  wideStep === undefined
    ? polynomialNodes(step).length === 0 && trailingZeros(BigInt(step.constant)) < MOST_ZEROS
    : trailingZeros(wideStep) < MOST_ZEROS

/**
 * Copies what a piece of `[first, rest]` may store over, through so many groups, to control memory, so that it can be
 * put back.
 *
 * @category transforms
 * @since 0.1.0
 */
export const savePiece = (
  code: Assembler,
  layout: FrameLayout,
  groups: number,
  [first, rest]: readonly [first: number, rest: number],
  local: (type: ValueType) => number
): void => {
  if (groups === 0) return
  const [from, to, low, high] = [local("i64"), local("i64"), local("i64"), local("i64")]
  for (let k = 0; k < groups; k++) {
    const at = layout.saved(k)
    code.loadControl("i64", at + Saved.COPY).op(0x50).op(0x45).if()
    code.get(first).op(0xad).loadControl("i64", at + Saved.STRIDE).op(0x7e).set(from)
    code.get(first).get(rest).op(0x6a).i32(1).op(0x6b).op(0xad).loadControl("i64", at + Saved.STRIDE).op(0x7e)
    code.set(to)
    code.get(from).get(to).get(from).get(to).op(0x53).op(0x1b)
    code.loadControl("i64", at + Saved.FIRST_LOW).op(0x7c).set(low)
    code.get(from).get(to).get(from).get(to).op(0x55).op(0x1b)
    code.loadControl("i64", at + Saved.FIRST_HIGH).op(0x7c).set(high)
    code.loadControl("i64", at + Saved.COPY).get(low).op(0x7c).loadControl("i64", at + Saved.LOW).op(0x7d).op(0xa7)
    code.get(low).op(0xa7)
    code.get(high).get(low).op(0x7d).op(0xa7)
    code.op(0xfc00a).out.u8(CONTROL).u8(0)
    code.end()
  }
}
