/**
 * The corpus as an instrument: what `npm run bench -- regenerate` needs to rebuild its summaries.
 */
import { check, type Instrument } from "../lib/instrument.ts"
import { judge } from "./judge.ts"
import type { ProgramSamples } from "./program.ts"

const summarise: Instrument<ProgramSamples>["summarise"] = (samples) => {
  const verdict = judge(samples)
  return {
    figure: verdict.ratio,
    unit: "× native",
    checks: [
      check("unequal outputs, memories or globals", verdict.equal ? 0 : 1, { atMost: 0 }),
      check("native/Folio, pooled median", verdict.ratio, { atLeast: Math.min(0.98, verdict.aaLow) }),
      ...(verdict.dispatches > 0 ? [] : [check("processor time, Folio/native", verdict.cpuRatio, { atMost: 1.02 })])
    ],
    rows: { ...verdict }
  }
}

/**
 * Summaries of programs. They are measured by `npm run corpus`, which knows folders and names.
 *
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Pick<Instrument<ProgramSamples>, "summarise"> = { summarise }
