/**
 * The command line before it is parsed: options to the front, operands behind `--`.
 *
 * Arguments of a WebAssembly function look like options (`-5`, `-inf`), and a flag would take a `1` or `true` behind
 * it as its value. So operands are told from options here, and the parser sees each where it cannot be mistaken.
 *
 * @since 0.1.0
 */

/** Options of every command. */
const COMMON: ReadonlyArray<string> = ["--help", "-h", "--version", "--wizard", "--completions", "--log-level"]

/** Options of each command. */
const OPTIONS: Readonly<Record<string, ReadonlyArray<string>>> = {
  run: ["--workers", "--fallback", "--verify", "--profile", "--json"],
  inspect: ["--html", "--profile", "--output", "--json"],
  prepare: ["--cache", "--budget-ms", "--budget-mib", "--profile", "--again", "--json"],
  "cache list": ["--cache", "--json"],
  "cache verify": ["--cache", "--json"],
  "cache clear": ["--cache", "--unusable", "--json"],
  doctor: ["--json"],
  bake: ["--init", "--imports", "--output", "--image", "--chunks", "--fingerprint", "--json"],
  "bench reset": ["--init", "--run", "--imports", "--rounds", "--json"],
  "bench tasks": ["--lanes", "--rounds", "--json"],
  "bench bake": ["--init", "--imports", "--rounds", "--json"],
  "bench cold-start": ["--init", "--run", "--imports", "--tenants", "--contexts", "--requests", "--json"],
  "image inspect": ["--module", "--svg", "--json"],
  "image scan": ["--secrets", "--json"],
  "image diff": ["--svg", "--json"],
  "image apply": ["--output", "--json"]
}

/** Commands that have commands of their own. */
const GROUPS: ReadonlySet<string> = new Set(["bench", "cache", "image"])

/** Options that take the next token as their value. */
const VALUED: ReadonlySet<string> = new Set([
  "--workers",
  "--fallback",
  "--init",
  "--imports",
  "--run",
  "--rounds",
  "--lanes",
  "--tenants",
  "--contexts",
  "--requests",
  "--output",
  "--image",
  "--chunks",
  "--fingerprint",
  "--module",
  "--svg",
  "--secrets",
  "--cache",
  "--budget-ms",
  "--budget-mib",
  "--profile",
  "--log-level",
  "--completions"
])

/** A number in the WebAssembly text format, not an option. */
const NUMBER = /^-(?:\.?\d|inf$|infinity$|nan$|nan:)/i

const isOption = (token: string): boolean => token.startsWith("-") && token !== "-" && !NUMBER.test(token)

/** The command, with the one inside its group, and what follows. */
const commandOf = (
  tokens: ReadonlyArray<string>
): { readonly command: ReadonlyArray<string>; readonly rest: ReadonlyArray<string> } => {
  const [first, second] = tokens
  const words = GROUPS.has(first) && second !== undefined && !second.startsWith("-") ? 2 : 1
  return { command: tokens.slice(0, words), rest: tokens.slice(words) }
}

/**
 * Arranges the tokens behind the program's name.
 *
 *     run x.wasm mix -5 --json   →   run --json -- x.wasm mix -5
 *
 * @category parsing
 * @since 0.1.0
 */
export const arrange = (tokens: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { command, rest } = commandOf(tokens)
  if (command.length === 0 || command[0].startsWith("-")) return tokens
  const options: Array<string> = []
  const operands: Array<string> = []
  for (let at = 0; at < rest.length; at++) {
    const token = rest[at]
    if (token === "--") {
      operands.push(...rest.slice(at + 1))
      break
    }
    if (!isOption(token)) {
      operands.push(token)
      continue
    }
    options.push(token)
    if (VALUED.has(token) && at + 1 < rest.length) options.push(rest[++at])
  }
  return [...command, ...options, ...(operands.length > 0 ? ["--", ...operands] : [])]
}

/**
 * The first option that the command does not have. The parser would take it for an operand.
 *
 * @category parsing
 * @since 0.1.0
 */
export const unknownOption = (tokens: ReadonlyArray<string>): string | undefined => {
  const { command, rest } = commandOf(arrange(tokens))
  const known = OPTIONS[command.join(" ")]
  if (known === undefined) return undefined
  for (let at = 0; at < rest.length && rest[at] !== "--"; at++) {
    const [name] = rest[at].split("=")
    if (!known.includes(name) && !COMMON.includes(name)) return name
    if (VALUED.has(rest[at])) at++
  }
  return undefined
}
