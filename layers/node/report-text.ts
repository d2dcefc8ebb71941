/**
 * A report as people read it.
 *
 * @since 0.1.0
 */
import type { DropInFacts, DropInReport, ModuleExecution, ModuleReport } from "./report.ts"

/** Reasons and loops that are shown of each module. */
const shown = 5

const number = (value: number): string => value.toLocaleString("en")

const counts = (record: Readonly<Record<string, number>>): string =>
  Object.entries(record)
    .sort(([, left], [, right]) => right - left)
    .slice(0, shown)
    .map(([name, count]) => `${name} ${number(count)}`)
    .join(", ")

const executionLines = (execution: ModuleExecution): ReadonlyArray<string> => {
  const { aborts, declined, dispatches, iterations, lanesUsed, loops, rung } = execution
  const lines = dispatches === 0 && aborts === 0 ? [] : [
    `    ${number(dispatches)} dispatches of ${
      number(iterations)
    } iterations on ${lanesUsed} threads, memory rung ${rung},`
    + ` ${number(aborts)} undone`
  ]
  const why = counts(declined)
  if (why !== "") lines.push(`    stayed native: ${why}`)
  const busiest = [...loops].sort((left, right) => right.dispatches - left.dispatches).slice(0, shown)
  for (const loop of busiest) {
    if (loop.dispatches === 0) continue
    const where = loop.functionName ?? `function ${loop.functionIndex}`
    lines.push(`      loop at ${loop.offset} of ${where}: ${number(loop.dispatches)} dispatches`)
  }
  return lines
}

const moduleLines = (module: ModuleReport): ReadonlyArray<string> => {
  const { bytes, cacheHit, execution, from, instances, reason, sha256, state, summary } = module
  const size = bytes === undefined ? "compiled in another thread" : `${number(bytes)} bytes`
  const lines = [`  module from ${from ?? "an unknown script"}, ${size}: ${state}`]
  if (sha256 !== undefined) lines.push(`    sha256 ${sha256}`)
  if (reason !== undefined) lines.push(`    serial: ${reason}`)
  if (summary !== undefined) {
    const { milliseconds, planned, reasons, refused } = summary
    const source = cacheHit ? "from the cache" : `prepared in ${milliseconds} ms`
    lines.push(`    ${planned} of ${planned + refused} loops planned, ${instances} instances, ${source}`)
    if (refused > 0) lines.push(`    not planned: ${counts(reasons)}`)
  }
  return execution === undefined ? lines : [...lines, ...executionLines(execution)]
}

const factLines = ({ build, cache, engine, modules, overflow, rung }: DropInFacts): ReadonlyArray<string> => {
  const width = engine === undefined ? "" : `, ${engine.width} threads`
  const lines = [`  build ${build}, memory rung ${rung}${width}, cache ${cache.directory ?? "off"}`]
  if (cache.reason !== undefined) lines.push(`  cache: ${cache.reason}`)
  for (const reason of engine?.lanes.reasons ?? []) lines.push(`  lanes: ${reason}`)
  lines.push(...modules.flatMap(moduleLines))
  if (overflow > 0) lines.push(`  ${number(overflow)} more compilations were not looked at`)
  return lines
}

/**
 * Lines for stderr, without the last line's end.
 *
 * @category writing
 * @since 0.1.0
 */
export const reportText = ({ command, facts, node, process, serial, thread }: DropInReport): string => {
  const where = `process ${process}${thread === 0 ? "" : `, thread ${thread}`}`
  const lines = [`folio: ${where}, Node.js ${node}: ${command.slice(1).join(" ")}`]
  if (serial !== undefined) lines.push(`  serial: ${serial}`)
  if (facts !== undefined) lines.push(...factLines(facts))
  return lines.join("\n")
}
