/**
 * Numeric ranges of i32 values that hold on every execution: the value, read as an integer, is congruent modulo 2³²
 * to a number inside the range.
 *
 * Only what the instructions themselves guarantee is used (narrow loads, masks, shifts, comparisons); no branch
 * is assumed.
 *
 * @since 0.1.0
 */
import type { Graph } from "./graph.ts"
import { Kind } from "./graph.ts"

/**
 * An inclusive range of integers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Range {
  readonly low: number
  readonly high: number
}

/** How deep operands are followed. */
const MAXIMUM_DEPTH = 16

const LOAD_RANGES: Readonly<Record<number, Range>> = {
  0x2c: { low: -128, high: 127 },
  0x2d: { low: 0, high: 255 },
  0x2e: { low: -32768, high: 32767 },
  0x2f: { low: 0, high: 65535 },
  0x31: { low: 0, high: 255 },
  0x33: { low: 0, high: 65535 }
}

/**
 * Ranges over one graph.
 *
 * @category analysis
 * @since 0.1.0
 */
export class Ranges {
  readonly #memo = new Map<number, Range | undefined>()
  readonly #graph: Graph

  constructor(graph: Graph) {
    this.#graph = graph
  }

  /** The range of a node, or `undefined` when nothing is known. */
  of(node: number, depth = 0): Range | undefined {
    if (depth > MAXIMUM_DEPTH) return undefined
    if (this.#memo.has(node)) return this.#memo.get(node)
    this.#memo.set(node, undefined)
    const range = this.#compute(node, depth)
    const usable = range !== undefined && range.high - range.low < 2 ** 32 && Number.isSafeInteger(range.low) &&
        Number.isSafeInteger(range.high)
      ? range
      : undefined
    this.#memo.set(node, usable)
    return usable
  }

  #compute(node: number, depth: number): Range | undefined {
    const g = this.#graph
    switch (g.kind[node]) {
      case Kind.Const32:
        return { low: g.a[node], high: g.a[node] }
      case Kind.Load:
        return LOAD_RANGES[g.op[node]]
      case Kind.Select:
        return union(this.of(g.a[node], depth + 1), this.of(g.b[node], depth + 1))
      case Kind.Phi: {
        const phi = g.phi(node)
        if (phi.loop >= 0) return undefined
        let range: Range | undefined
        for (const [index, input] of phi.inputs.entries()) {
          const one = this.of(input.value, depth + 1)
          range = index === 0 ? one : union(range, one)
          if (range === undefined) return undefined
        }
        return range
      }
      case Kind.Op:
        return this.#operation(g.op[node], g.a[node], g.b[node], depth + 1)
      default:
        return undefined
    }
  }

  #operation(op: number, a: number, b: number, depth: number): Range | undefined {
    const g = this.#graph
    const literal = b > 0 && g.isConst32(b) ? g.a[b] : undefined
    const x = (): Range | undefined => this.of(a, depth)
    const y = (): Range | undefined => this.of(b, depth)
    if (op >= 0x45 && op <= 0x66) return { low: 0, high: 1 }
    if (op >= 0x67 && op <= 0x69) return { low: 0, high: 32 }
    switch (op) {
      case 0x71: { // and
        const bounds = [x(), y()].filter((r): r is Range => isUnsigned(r))
        return bounds.length === 0 ? undefined : { low: 0, high: Math.min(...bounds.map((r) => r.high)) }
      }
      case 0x72: // or
      case 0x73: { // xor
        const p = x()
        const q = y()
        if (!isUnsigned(p) || !isUnsigned(q)) return undefined
        return { low: 0, high: 2 ** Math.ceil(Math.log2(Math.max(p.high, q.high) + 1)) - 1 }
      }
      case 0x6a: { // add
        const p = x()
        const q = p && y()
        return p && q && { low: p.low + q.low, high: p.high + q.high }
      }
      case 0x6b: { // sub
        const p = x()
        const q = p && y()
        return p && q && { low: p.low - q.high, high: p.high - q.low }
      }
      case 0x6c: { // mul
        const p = x()
        const q = p && y()
        if (p === undefined || q === undefined) return undefined
        const corners = [p.low * q.low, p.low * q.high, p.high * q.low, p.high * q.high]
        return { low: Math.min(...corners), high: Math.max(...corners) }
      }
      case 0x74: { // shl
        const p = literal === undefined ? undefined : x()
        return p && { low: p.low * 2 ** (literal! & 31), high: p.high * 2 ** (literal! & 31) }
      }
      case 0x76: { // shr_u
        if (literal === undefined) return undefined
        const shift = literal & 31
        const p = x()
        if (isUnsigned(p)) return { low: Math.floor(p.low / 2 ** shift), high: Math.floor(p.high / 2 ** shift) }
        return shift === 0 ? undefined : { low: 0, high: 2 ** (32 - shift) - 1 }
      }
      case 0x75: { // shr_s
        if (literal === undefined) return undefined
        const shift = literal & 31
        const p = x()
        if (p !== undefined && p.low >= -(2 ** 31) && p.high < 2 ** 31) {
          return { low: Math.floor(p.low / 2 ** shift), high: Math.floor(p.high / 2 ** shift) }
        }
        return shift === 0 ? undefined : { low: -(2 ** (31 - shift)), high: 2 ** (31 - shift) - 1 }
      }
      case 0x70: // rem_u
        return literal === undefined || literal === 0 ? undefined : { low: 0, high: (literal >>> 0) - 1 }
      case 0xc0:
        return { low: -128, high: 127 }
      case 0xc1:
        return { low: -32768, high: 32767 }
      case 0xfd016: // i8x16.extract_lane_u
        return { low: 0, high: 255 }
      case 0xfd019: // i16x8.extract_lane_u
        return { low: 0, high: 65535 }
      default:
        return undefined
    }
  }
}

const union = (p: Range | undefined, q: Range | undefined): Range | undefined =>
  p === undefined || q === undefined ? undefined : { low: Math.min(p.low, q.low), high: Math.max(p.high, q.high) }

/** True when the range holds the value itself, read as unsigned, and not only something congruent to it. */
const isUnsigned = (r: Range | undefined): r is Range => r !== undefined && r.low >= 0 && r.high < 2 ** 32
