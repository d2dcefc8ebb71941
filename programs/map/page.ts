/**
 * A module's map as one HTML file that needs nothing else: a treemap of functions with their loops inside, a legend, and
 * the details of each.
 *
 * It is readable without a script; one of a few lines shows the details of what the pointer is over.
 *
 * @since 0.1.0
 */
import type { Inspection, LoopInspection } from "../../services/Extraction.ts"
import { categories, categoryOf } from "./categories.ts"
import type { FunctionNode, LoopNode, ModuleMap } from "./module-map.ts"
import { SCRIPT, STYLE } from "./page-parts.ts"
import { type Rect, squarify } from "./treemap.ts"

/** Size of the picture. */
const WIDTH = 1280
const HEIGHT = 760

/** Functions that have a rectangle of their own, and details; the others, the smallest, share one. */
const SHOWN = 2_000

/** Sides that a rectangle needs for a line of text in it. */
const LABEL_WIDTH = 44
const LABEL_HEIGHT = 15
/** Width of a character of a label. */
const CHARACTER = 6.1

/** Characters that would change what stands around them: controls, and directions of writing. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029\ufffe\uffff]|\p{Cs}/gu

/**
 * Text for any place in the page. Names come from the module and may hold anything.
 *
 * @category formatting
 * @since 0.1.0
 */
export const escapeText = (text: string): string =>
  text
    .replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const hex = (offset: number): string => `0x${offset.toString(16)}`
const count = (value: number): string => value.toLocaleString("en")
const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`
const percent = (part: number, whole: number): string => `${whole === 0 ? 0 : (part / whole * 100).toFixed(1)} %`

const verdictOf = (found: LoopInspection | undefined, nativeReason: string | undefined): string => {
  if (found === undefined) return `native: ${nativeReason ?? "it was not looked at"}`
  if (found.tier !== undefined) return `planned, ${found.tier}: ${found.obligations.join(", ")}`
  return found.reasons.map(({ code, detail, offset }) => `${code} at ${hex(offset)}: ${detail}`).join("; ")
}

const ranAs = ({ run }: LoopNode): string =>
  run === undefined
    ? ""
    : `${plural(run.executions, "execution")}, ${plural(run.iterations, "iteration")}, ${
      percent(run.share, 1)
    } of the run`

const aboutFunction = ({ bytes, calls, weight }: FunctionNode, map: ModuleMap): string =>
  calls === undefined
    ? `${count(bytes)} bytes`
    : `${count(bytes)} bytes, ${plural(calls, "call")}, ${percent(weight, map.weight)} of the run`

/** What a rectangle tells, a line each. */
const title = (lines: ReadonlyArray<string>): string => `<title>${lines.map(escapeText).join("&#10;")}</title>`

const rectangle = ({ height, width, x, y }: Rect, kind: string): string =>
  `<rect class="${kind}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${
    height.toFixed(1)
  }"/>`

const label = ({ height, width, x, y }: Rect, text: string): string => {
  if (width < LABEL_WIDTH || height < LABEL_HEIGHT) return ""
  const room = Math.floor((width - 6) / CHARACTER)
  const shown = text.length <= room ? text : `${text.slice(0, Math.max(1, room - 1))}…`
  return `<text x="${(x + 3).toFixed(1)}" y="${(y + 11).toFixed(1)}">${escapeText(shown)}</text>`
}

const inset = ({ height, width, x, y }: Rect, by: number, top: number): Rect => ({
  x: x + by,
  y: y + top,
  width: Math.max(0, width - 2 * by),
  height: Math.max(0, height - top - by)
})

/** Draws a function or a loop into its rectangle, and what is inside it into that. */
class Drawing {
  readonly #map: ModuleMap
  readonly #nativeReason: string | undefined
  readonly #out: Array<string> = []

  constructor(map: ModuleMap, nativeReason: string | undefined) {
    this.#map = map
    this.#nativeReason = nativeReason
  }

  get svg(): string {
    return this.#out.join("\n")
  }

  drawFunction(node: FunctionNode, rect: Rect): void {
    const { index, name, refused } = node
    const about = title([
      `${name} [${index}]`,
      aboutFunction(node, this.#map),
      ...refused === undefined ? [] : [verdictOf(refused, undefined)]
    ])
    const kind = refused === undefined ? "plain" : categoryOf(refused).id
    this.#out.push(`<a href="#f${index}">${about}${rectangle(rect, kind)}${label(rect, name)}</a>`)
    this.#drawLoops(node, node.loops, node.weight, rect)
  }

  drawRest(functions: number, rect: Rect): void {
    const text = `${count(functions)} smaller functions`
    this.#out.push(`<g>${title([text])}${rectangle(rect, "rest")}${label(rect, text)}</g>`)
  }

  /** Loops share the rectangle with the code around them. */
  #drawLoops(owner: FunctionNode, loops: ReadonlyArray<LoopNode>, weight: number, rect: Rect): void {
    const shown = loops.filter((loop) => loop.weight > 0).sort((a, b) => b.weight - a.weight)
    const isLabelled = rect.width >= LABEL_WIDTH && rect.height >= LABEL_HEIGHT * 2
    const within = inset(rect, 1.5, isLabelled ? LABEL_HEIGHT : 1.5)
    if (shown.length === 0 || within.width < 1.5 || within.height < 1.5) return
    const inside = shown.reduce((sum, loop) => sum + loop.weight, 0)
    const parts: Array<LoopNode | undefined> = [...shown]
    const around = Math.max(0, weight - inside)
    const at = parts.findIndex((loop) => loop !== undefined && loop.weight < around)
    parts.splice(at < 0 ? parts.length : at, 0, undefined)
    const rects = squarify(parts.map((loop) => loop?.weight ?? around), within)
    for (const [index, loop] of parts.entries()) {
      if (loop === undefined) continue
      const place = inset(rects[index], 0.5, 0.5)
      if (place.width < 0.5 || place.height < 0.5) continue
      const about = [
        `loop at ${hex(loop.offset)} of ${owner.name} [${owner.index}], ${count(loop.bytes)} bytes`,
        verdictOf(loop.found, this.#nativeReason),
        ...loop.run === undefined ? [] : [ranAs(loop)]
      ]
      const { id } = categoryOf(loop.found)
      this.#out.push(
        `<a href="#l${loop.offset}">${title(about)}${rectangle(place, id)}${
          label(place, loop.found?.tier ?? loop.found?.reasons[0].code ?? "")
        }</a>`
      )
      this.#drawLoops(owner, loop.inner, loop.weight, place)
    }
  }
}

const draw = (map: ModuleMap, nativeReason: string | undefined): string => {
  const drawing = new Drawing(map, nativeReason)
  const present = map.functions.filter(({ weight }) => weight > 0)
  const shown = present.slice(0, SHOWN)
  const others = present.slice(SHOWN)
  const rest = others.reduce((sum, { weight }) => sum + weight, 0)
  const place = shown.findIndex(({ weight }) => weight < rest)
  const parts: Array<FunctionNode | undefined> = [...shown]
  if (others.length > 0) parts.splice(place < 0 ? parts.length : place, 0, undefined)
  const rects = squarify(parts.map((one) => one?.weight ?? rest), { x: 0, y: 0, width: WIDTH, height: HEIGHT })
  for (const [index, one] of parts.entries()) {
    const rect = inset(rects[index], 0.5, 0.5)
    if (one === undefined) drawing.drawRest(others.length, rect)
    else drawing.drawFunction(one, rect)
  }
  return drawing.svg
}

const loopLines = (loops: ReadonlyArray<LoopNode>, nativeReason: string | undefined): string =>
  loops.length === 0 ? "" : `<ul>${
    loops.map((loop) => {
      const remedies = loop.found?.tier === undefined ? loop.found?.reasons.map(({ remedy }) => remedy) ?? [] : []
      const ran = loop.run === undefined ? "" : `<br><small>${escapeText(ranAs(loop))}</small>`
      const remedy = remedies.length === 0 ? "" : `<br><em>${escapeText([...new Set(remedies)].join(" "))}</em>`
      return `<li id="l${loop.offset}"><i class="${categoryOf(loop.found).id}"></i><code>${hex(loop.offset)}</code> ${
        escapeText(verdictOf(loop.found, nativeReason))
      }${ran}${remedy}${loopLines(loop.inner, nativeReason)}</li>`
    }).join("")
  }</ul>`

const functionDetails = (node: FunctionNode, map: ModuleMap, nativeReason: string | undefined): string => {
  const about = aboutFunction(node, map)
  const exports = node.exports.length === 0 ? "" : `, exported as ${node.exports.map((name) => `"${name}"`).join(", ")}`
  const refused = node.refused === undefined ? "" : `<p>${escapeText(verdictOf(node.refused, undefined))}</p>`
  return `<section id="f${node.index}"><h3>${escapeText(node.name)} <small>[${node.index}] ${
    escapeText(`${about}${exports}`)
  }</small></h3>${refused}${loopLines(node.loops, nativeReason)}</section>`
}

/** Loops by group, with the weight of what is in them. */
const legend = (map: ModuleMap): string => {
  const loops = new Map<string, number>()
  const visit = (nodes: ReadonlyArray<LoopNode>): void => {
    for (const node of nodes) {
      const { id } = categoryOf(node.found)
      loops.set(id, (loops.get(id) ?? 0) + 1)
      visit(node.inner)
    }
  }
  for (const { loops } of map.functions) visit(loops)
  return categories
    .filter(({ id }) => loops.has(id))
    .map(({ id, label }) => `<li><i class="${id}"></i>${label} <b>${count(loops.get(id) ?? 0)}</b></li>`)
    .join("")
}

/**
 * The page.
 *
 * @category formatting
 * @since 0.1.0
 */
export const mapPage = (map: ModuleMap, inspection: Inspection): string => {
  const { complete, nativeReason, source, totals } = inspection
  const name = escapeText(source)
  const colours = categories.map(({ colour, id }) => `.${id}{fill:${colour};background:${colour}}`).join("")
  const detailed = map.functions.slice(0, SHOWN).filter(({ loops, refused, weight }) =>
    weight > 0 && (loops.length > 0 || refused !== undefined)
  )
  const unreached = map.functions.filter(({ weight }) => weight === 0).length
  const facts = [
    `${plural(totals.functions, "function")}, ${plural(totals.loops, "loop")}: ${count(totals.planned)} planned, ${
      count(totals.inside)
    } inside these, ${count(totals.refused)} serial.`,
    map.weighs === "bytes"
      ? `Areas are bytes of code; ${percent(map.planned, map.weight)} of ${count(map.weight)} are in planned loops.`
      : `Areas are executed instructions; ${percent(map.planned, map.weight)} of ${
        count(map.weight)
      } are in planned loops and what they call.`,
    ...unreached === 0 ? [] : [`Not executed and not shown: ${plural(unreached, "function")}.`],
    ...nativeReason === undefined ? [] : [`It runs natively: ${nativeReason}.`],
    ...complete ? [] : ["The budget ended the analysis before all loops were seen."]
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${name}: what can run apart</title>
<style>${STYLE}${colours}</style>
</head>
<body>
<h1>${name}</h1>
<p>${escapeText(facts.join(" "))}</p>
<ul class="legend">${legend(map)}</ul>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Treemap of ${name}">
${draw(map, nativeReason)}
</svg>
<pre id="about" aria-live="polite">Point at a function or a loop; click for its details.</pre>
<h2>Details</h2>
${detailed.map((node) => functionDetails(node, map, nativeReason)).join("\n")}
<script>${SCRIPT}</script>
</body>
</html>
`
}
