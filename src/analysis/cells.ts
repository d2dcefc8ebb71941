/**
 * What locals and globals hold while a region is built. States at branches share their arrays with the present until
 * somebody writes: most branches are not followed by a write before the next one.
 *
 * @since 0.1.0
 */

/**
 * Values by slot.
 *
 * @category models
 * @since 0.1.0
 */
export class Locals {
  #values: ReadonlyArray<number>
  /** The same array while it is nobody else's. */
  #own: Array<number> | undefined

  constructor(values: Array<number>) {
    this.#values = this.#own = values
  }

  get(slot: number): number {
    return this.#values[slot]
  }

  set(slot: number, value: number): void {
    if (this.#own === undefined) this.#values = this.#own = this.#values.slice()
    this.#own[slot] = value
  }

  /** The values as they are now, never to change. */
  share(): ReadonlyArray<number> {
    this.#own = undefined
    return this.#values
  }

  /** Goes on with shared values. */
  restore(values: ReadonlyArray<number>): void {
    this.#values = values
    this.#own = undefined
  }
}

/**
 * Values by global index, as far as they are known.
 *
 * @category models
 * @since 0.1.0
 */
export class Globals {
  #values: ReadonlyMap<number, number> = new Map()
  #own: Map<number, number> | undefined
  #list: ReadonlyArray<number> | undefined

  get(index: number): number | undefined {
    return this.#values.get(index)
  }

  set(index: number, value: number): void {
    if (this.#own === undefined) this.#values = this.#own = new Map(this.#values)
    this.#own.set(index, value)
    this.#list = undefined
  }

  /** The values as they are now, never to change. */
  share(): ReadonlyMap<number, number> {
    this.#own = undefined
    return this.#values
  }

  /** Goes on with shared values. */
  restore(values: ReadonlyMap<number, number>): void {
    if (values !== this.#values) this.#list = undefined
    this.#values = values
    this.#own = undefined
  }

  /** Values of some globals, always the same ones; the same array while none is set. */
  list(indices: ReadonlySet<number>): ReadonlyArray<number> {
    return this.#list ??= Array.from(indices, (index) => this.#values.get(index)!)
  }
}
