/**
 * Looks for secrets in an image: as they are, and as programs write them down.
 *
 * Memory is searched as a whole, module bytes included, so that a secret is found across the border of two pages.
 * Base64 has three forms by the secret's place in what was encoded; characters at its ends that its neighbours share in
 * are left out. Nothing that is returned contains a secret.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { memoryContents } from "./content.ts"
import { type Image, PAGE_BYTES } from "./model.ts"

/**
 * A secret to look for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Secret {
  /** What findings call it. */
  readonly name: string
  /** At least {@link SHORTEST_SECRET} bytes. */
  readonly bytes: Uint8Array
}

/**
 * How a secret was written down.
 *
 * @category models
 * @since 0.1.0
 */
export type SecretForm = "raw" | "utf-16" | "base64" | "hex" | "url-encoded"

/**
 * A place where a secret is in the image.
 *
 * @category models
 * @since 0.1.0
 */
export interface Finding {
  readonly secret: string
  readonly form: SecretForm
  readonly memory: number
  readonly offset: number
  /** Whether the page is one of the image or of the module's own data. */
  readonly origin: "image" | "module"
}

/**
 * Shorter ones are found everywhere by chance: the base64 form of eight bytes can be as short as eight characters.
 *
 * @category limits
 * @since 0.1.0
 */
export const SHORTEST_SECRET = 8

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

const base64 = (bytes: Uint8Array, last: string): string => {
  const alphabet = ALPHABET + last
  let text = ""
  for (let at = 0; at + 2 < bytes.length; at += 3) {
    const triple = bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2]
    for (let shift = 18; shift >= 0; shift -= 6) text += alphabet[triple >> shift & 63]
  }
  return text
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** Percent-encoding of all but unreserved characters (RFC 3986), a space as given. */
const percent = (bytes: Uint8Array, space: string): string =>
  Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte)
    if (/[A-Za-z0-9\-_.~]/.test(character)) return character
    return byte === 0x20 ? space : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }).join("")

/** Percent-encoding in which the digits are small, the text is not. */
const smallDigits = (text: string): string => text.replace(/%../g, (code) => code.toLowerCase())

/** Everything that the secret may look like. @category reading @since 0.1.0 */
export const formsOf = (secret: Uint8Array): ReadonlyArray<readonly [SecretForm, Uint8Array]> => {
  const wide = new Uint8Array(secret.length * 2)
  for (const [at, byte] of secret.entries()) wide[at * 2] = byte
  const forms: Array<readonly [SecretForm, Uint8Array]> = [["raw", secret]]
  if (secret.every((byte) => byte < 0x80)) forms.push(["utf-16", wide])
  for (const shift of [0, 1, 2]) {
    const inner = secret.subarray(shift)
    for (const last of ["+/", "-_"]) forms.push(["base64", ascii(base64(inner, last))])
  }
  forms.push(["hex", ascii(hex(secret))], ["hex", ascii(hex(secret).toUpperCase())])
  for (const space of ["%20", "+"]) {
    const encoded = percent(secret, space)
    forms.push(["url-encoded", ascii(encoded)], ["url-encoded", ascii(smallDigits(encoded))])
  }
  const seen = new Set<string>()
  return forms.filter(([, bytes]) => {
    const key = hex(bytes)
    return !seen.has(key) && seen.add(key) !== undefined
  })
}

const occurrences = (haystack: Uint8Array, needle: Uint8Array): Array<number> => {
  const found: Array<number> = []
  for (let at = haystack.indexOf(needle[0]); at >= 0; at = haystack.indexOf(needle[0], at + 1)) {
    let length = 1
    while (length < needle.length && haystack[at + length] === needle[length]) length++
    if (length === needle.length) found.push(at)
  }
  return found
}

/** Contiguous pages as one range of bytes each. */
const stretches = (pages: ReadonlyMap<number, Uint8Array>): ReadonlyArray<{ at: number; bytes: Uint8Array }> => {
  const numbers = [...pages.keys()].sort((a, b) => a - b)
  const groups: Array<Array<number>> = []
  for (const page of numbers) {
    const last = groups.at(-1)
    if (last?.at(-1) === page - 1) last.push(page)
    else groups.push([page])
  }
  return groups.map((group) => {
    const bytes = new Uint8Array(group.length * PAGE_BYTES)
    for (const [at, page] of group.entries()) bytes.set(pages.get(page)!, at * PAGE_BYTES)
    return { at: group[0] * PAGE_BYTES, bytes }
  })
}

/**
 * Finds secrets in an image of module `m`, in the order of their places. Throws a `RangeError` for a secret that is
 * shorter than {@link SHORTEST_SECRET} bytes.
 *
 * @category reading
 * @since 0.1.0
 */
export const scanImage = (m: WasmModule, image: Image, secrets: ReadonlyArray<Secret>): ReadonlyArray<Finding> => {
  for (const { bytes, name } of secrets) {
    if (bytes.length >= SHORTEST_SECRET) continue
    throw new RangeError(`the secret "${name}" has ${bytes.length} bytes; from ${SHORTEST_SECRET} on they can be told`)
  }
  const forms = secrets.flatMap(({ bytes, name }) => formsOf(bytes).map(([form, needle]) => ({ name, form, needle })))
  return memoryContents(m, image).flatMap((pages, memory) => {
    const own = new Set(image.memories[memory].delta.map(({ page }) => page))
    const found: Array<Finding> = []
    for (const { at, bytes } of stretches(pages)) {
      for (const { form, name, needle } of forms) {
        for (const position of occurrences(bytes, needle)) {
          const offset = at + position
          const [first, last] = [offset, offset + needle.length - 1].map((byte) => Math.floor(byte / PAGE_BYTES))
          const origin = own.has(first) || own.has(last) ? "image" : "module"
          found.push({ secret: name, form, memory, offset, origin })
        }
      }
    }
    return found.sort((a, b) => a.offset - b.offset)
  })
}
