/**
 * Small values as bytes in shared memory: what tasks are mostly given and give back, several times as fast as the
 * structured clone and with the same result. What is not certain to give the same result is not written at all, and
 * goes another way: cycles and values that occur twice, objects of classes, arrays with holes or names, parts of
 * buffers, everything with hidden state.
 *
 *     value  = tag, then
 *       integer   i32                        text     length, a byte a character
 *       float     f64                        wide     length, two bytes a character
 *       big       i64                        array    count, values
 *       buffer    length, padding, bytes     object   count, (name as text or wide, value)…
 *       view      kind, as buffer
 *
 * Lengths and counts are 1 byte below 255, else 255 and 4 bytes. Numbers are little-endian and lie anywhere; the bytes
 * of buffers begin at a multiple of 8.
 *
 * @since 0.1.0
 */

const Tag = {
  UNDEFINED: 0,
  NULL: 1,
  TRUE: 2,
  FALSE: 3,
  INTEGER: 4,
  FLOAT: 5,
  BIG: 6,
  TEXT: 7,
  WIDE: 8,
  ARRAY: 9,
  OBJECT: 10,
  BUFFER: 11,
  VIEW: 12
} as const

/** The views that all have in common what is needed here; lengths are in elements. */
type View = Uint8Array
type Kind = new(buffer: ArrayBufferLike | number, at?: number, length?: number) => View

/** Kinds of views, by their place. */
const VIEWS: ReadonlyArray<readonly [name: string, kind: Kind, elementBytes: number]> = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array
].map((kind) => [kind.name, kind as unknown as Kind, kind.BYTES_PER_ELEMENT])
const KINDS = new Map(VIEWS.map(([name], kind) => [name, kind]))

/** The whole region, seen by every kind: copies between views of one kind are moves. */
const allViews = (bytes: Uint8Array): ReadonlyArray<View> =>
  VIEWS.map(([, kind, size]) => new kind(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / size)))

/** Deepest nesting and most objects of a value: a longer search for values that occur twice would not be fast. */
const MOST_OBJECTS = 64
/** Longest array: whether it has holes or names is asked of all its keys. */
const MOST_ELEMENTS = 256
/** Characters from which a text goes through the engine's own coders. */
const LONG_TEXT = 48
/** Characters that one call of `String.fromCharCode` gets. */
const CHUNK = 4_096

const WIDE_LENGTH = 255
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Writes values into a region.
 *
 * @category encoding
 * @since 0.1.0
 */
export class ValueWriter {
  readonly #bytes: Uint8Array
  readonly #views: ReadonlyArray<View>
  readonly #view: DataView
  readonly #isHidden: (value: object) => boolean
  readonly #seen: Array<object> = []
  #scratch = new Uint8Array(0)
  #at = 0
  #end = 0

  /** @param isHidden whether an object is none although it looks plain: a proxy, which only the host can tell */
  constructor(bytes: Uint8Array, isHidden: (value: object) => boolean) {
    this.#bytes = bytes
    this.#views = allViews(bytes)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#isHidden = isHidden
  }

  /** Writes a value at `at`, not beyond `end`. Where it ends; -1 where it does not fit or has to go another way. */
  write(value: unknown, at: number, end: number): number {
    this.#at = at
    this.#end = end
    this.#seen.length = 0
    try {
      return this.#value(value) ? this.#at : -1
    } catch {
      // A getter has thrown. It throws again on the other way, and there it is told.
      return -1
    } finally {
      this.#seen.length = 0
    }
  }

  #value(value: unknown): boolean {
    switch (typeof value) {
      case "number":
        return this.#number(value)
      case "string":
        return this.#text(value)
      case "undefined":
        return this.#tag(Tag.UNDEFINED)
      case "boolean":
        return this.#tag(value ? Tag.TRUE : Tag.FALSE)
      case "object":
        return value === null ? this.#tag(Tag.NULL) : this.#object(value)
      case "bigint":
        if (BigInt.asIntN(64, value) !== value || this.#at + 9 > this.#end) return false
        this.#bytes[this.#at] = Tag.BIG
        this.#view.setBigInt64(this.#at + 1, value, true)
        this.#at += 9
        return true
      default:
        return false
    }
  }

  #tag(tag: number): boolean {
    if (this.#at >= this.#end) return false
    this.#bytes[this.#at++] = tag
    return true
  }

  #number(value: number): boolean {
    if (this.#at + 9 > this.#end) return false
    if ((value | 0) === value && !Object.is(value, -0)) {
      this.#bytes[this.#at] = Tag.INTEGER
      this.#view.setInt32(this.#at + 1, value, true)
      this.#at += 5
    } else {
      this.#bytes[this.#at] = Tag.FLOAT
      this.#view.setFloat64(this.#at + 1, value, true)
      this.#at += 9
    }
    return true
  }

  #length(length: number): boolean {
    if (this.#at + 5 > this.#end) return false
    if (length < WIDE_LENGTH) this.#bytes[this.#at++] = length
    else {
      this.#bytes[this.#at] = WIDE_LENGTH
      this.#view.setUint32(this.#at + 1, length, true)
      this.#at += 5
    }
    return true
  }

  #text(text: string): boolean {
    const { length } = text
    const start = this.#at
    if (start + length + 6 > this.#end) return false
    this.#tag(Tag.TEXT)
    this.#length(length)
    if (this.#narrow(text)) return true
    this.#at = start
    return this.#wide(text)
  }

  /** The characters, a byte each, if they have codes below 128. */
  #narrow(text: string): boolean {
    const { length } = text
    if (length >= LONG_TEXT) {
      if (this.#scratch.length < 3 * length) this.#scratch = new Uint8Array(3 * length)
      if (encoder.encodeInto(text, this.#scratch).written !== length) return false
      this.#bytes.set(this.#scratch.subarray(0, length), this.#at)
    } else {
      for (let index = 0; index < length; index++) {
        const code = text.charCodeAt(index)
        if (code > 127) return false
        this.#bytes[this.#at + index] = code
      }
    }
    this.#at += length
    return true
  }

  #wide(text: string): boolean {
    const { length } = text
    if (this.#at + 2 * length + 6 > this.#end) return false
    this.#tag(Tag.WIDE)
    this.#length(length)
    for (let index = 0; index < length; index++) {
      this.#view.setUint16(this.#at + 2 * index, text.charCodeAt(index), true)
    }
    this.#at += 2 * length
    return true
  }

  #object(value: object): boolean {
    if (this.#seen.length >= MOST_OBJECTS || this.#seen.includes(value)) return false
    this.#seen.push(value)
    if (ArrayBuffer.isView(value)) return this.#viewOf(value)
    if (this.#isHidden(value)) return false
    if (Array.isArray(value)) return this.#array(value)
    if (value instanceof ArrayBuffer) return this.#bufferOf(value)
    const prototype = Object.getPrototypeOf(value) as unknown
    return prototype === Object.prototype && this.#record(value as Record<string, unknown>)
  }

  #array(array: ReadonlyArray<unknown>): boolean {
    const { length } = array
    if (length > MOST_ELEMENTS || Object.getPrototypeOf(array) !== Array.prototype) return false
    if (Object.keys(array).length !== length) return false
    if (!this.#tag(Tag.ARRAY) || !this.#length(length)) return false
    for (let index = 0; index < length; index++) {
      // As many keys as elements, and none of these missing: there are no names among them.
      if (array[index] === undefined && !(index in array)) return false
      if (!this.#value(array[index])) return false
    }
    return true
  }

  #record(record: Record<string, unknown>): boolean {
    const keys = Object.keys(record)
    if (!this.#tag(Tag.OBJECT) || !this.#length(keys.length)) return false
    for (const key of keys) {
      // Set on the other side, it would be the prototype.
      if (key === "__proto__" || !this.#text(key) || !this.#value(record[key])) return false
    }
    return true
  }

  #viewOf(view: ArrayBufferView): boolean {
    const { buffer, byteLength } = view
    const kind = KINDS.get((view as View)[Symbol.toStringTag])
    if (kind === undefined || !(buffer instanceof ArrayBuffer) || byteLength !== buffer.byteLength) return false
    if (this.#seen.includes(buffer)) return false
    this.#seen.push(buffer)
    if (!this.#beginBuffer(buffer, Tag.VIEW, kind)) return false
    this.#views[kind].set(view as View, this.#at / VIEWS[kind][2])
    this.#at += byteLength
    return true
  }

  #bufferOf(buffer: ArrayBuffer): boolean {
    if (!this.#beginBuffer(buffer, Tag.BUFFER, 0)) return false
    this.#bytes.set(new Uint8Array(buffer), this.#at)
    this.#at += buffer.byteLength
    return true
  }

  #beginBuffer(buffer: ArrayBuffer, tag: number, kind: number): boolean {
    const { byteLength } = buffer
    if (buffer.resizable || (byteLength === 0 && buffer.detached)) return false
    if (this.#at + byteLength + 14 > this.#end) return false
    this.#tag(tag)
    if (tag === Tag.VIEW) this.#bytes[this.#at++] = kind
    this.#length(byteLength)
    this.#at = aligned(this.#at)
    return true
  }
}

const aligned = (at: number): number => (at + 7) & -8

/** Names of objects that were read before, so that equal ones are one string of the engine's and found at once. */
const NAMES = 256

/**
 * Reads values out of a region.
 *
 * @category decoding
 * @since 0.1.0
 */
export class ValueReader {
  readonly #bytes: Uint8Array
  readonly #views: ReadonlyArray<View>
  readonly #view: DataView
  readonly #names: Array<string> = new Array<string>(NAMES).fill("")
  #scratch = new Uint8Array(0)
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#views = allViews(bytes)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** The value that was written at `at`. */
  read(at: number): unknown {
    this.#at = at
    return this.#value()
  }

  /** Where the value that was read last ends. */
  get end(): number {
    return this.#at
  }

  #value(): unknown {
    switch (this.#bytes[this.#at++]) {
      case Tag.UNDEFINED:
        return undefined
      case Tag.NULL:
        return null
      case Tag.TRUE:
        return true
      case Tag.FALSE:
        return false
      case Tag.INTEGER:
        this.#at += 4
        return this.#view.getInt32(this.#at - 4, true)
      case Tag.FLOAT:
        this.#at += 8
        return this.#view.getFloat64(this.#at - 8, true)
      case Tag.BIG:
        this.#at += 8
        return this.#view.getBigInt64(this.#at - 8, true)
      case Tag.TEXT:
        return this.#narrow(this.#length())
      case Tag.WIDE:
        return this.#wide(this.#length())
      case Tag.ARRAY:
        return this.#array(this.#length())
      case Tag.OBJECT:
        return this.#record(this.#length())
      case Tag.BUFFER:
        return this.#viewOf(0).buffer
      default:
        return this.#viewOf(this.#bytes[this.#at++])
    }
  }

  #length(): number {
    const first = this.#bytes[this.#at++]
    if (first < WIDE_LENGTH) return first
    this.#at += 4
    return this.#view.getUint32(this.#at - 4, true)
  }

  #narrow(length: number): string {
    const at = this.#at
    this.#at += length
    if (length >= LONG_TEXT) {
      // Copied first: not every host's decoder takes shared memory.
      if (this.#scratch.length < length) this.#scratch = new Uint8Array(2 * length)
      this.#scratch.set(this.#bytes.subarray(at, at + length))
      return decoder.decode(this.#scratch.subarray(0, length))
    }
    let text = ""
    for (let index = 0; index < length; index++) text += String.fromCharCode(this.#bytes[at + index])
    return text
  }

  #wide(length: number): string {
    let text = ""
    for (let done = 0; done < length; done += CHUNK) {
      const codes = new Array<number>(Math.min(CHUNK, length - done))
      for (let index = 0; index < codes.length; index++) {
        codes[index] = this.#view.getUint16(this.#at + 2 * (done + index), true)
      }
      text += String.fromCharCode(...codes)
    }
    this.#at += 2 * length
    return text
  }

  #array(length: number): Array<unknown> {
    const array: Array<unknown> = []
    for (let index = 0; index < length; index++) array.push(this.#value())
    return array
  }

  #record(count: number): Record<string, unknown> {
    const record: Record<string, unknown> = {}
    for (let index = 0; index < count; index++) {
      const name = this.#name()
      record[name] = this.#value()
    }
    return record
  }

  #name(): string {
    const tag = this.#bytes[this.#at++]
    const length = this.#length()
    if (tag === Tag.WIDE) return this.#wide(length)
    if (length === 0 || length >= LONG_TEXT) return this.#narrow(length)
    const at = this.#at
    const place = (this.#bytes[at] * 31 + this.#bytes[at + length - 1] * 7 + length) % NAMES
    const known = this.#names[place]
    if (known.length === length) {
      let index = 0
      while (index < length && known.charCodeAt(index) === this.#bytes[at + index]) index++
      if (index === length) {
        this.#at += length
        return known
      }
    }
    return this.#names[place] = this.#narrow(length)
  }

  #viewOf(kind: number): View {
    const length = this.#length()
    const at = aligned(this.#at)
    this.#at = at + length
    const [, construct, size] = VIEWS[kind]
    const copy = new construct(length / size)
    copy.set(this.#views[kind].subarray(at / size, (at + length) / size))
    return copy
  }
}
