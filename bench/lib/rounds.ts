/**
 * Paired alternating rounds in one process: every arm runs once a round, and each round begins with the next arm, so
 * that drift of the machine and the place within a round fall on all arms alike.
 */

/**
 * What one timed run of an arm took.
 *
 * @category models
 * @since 0.1.0
 */
export interface Timing {
  readonly wallMs: number
  /** Processor time of the whole process, lanes included. */
  readonly cpuMs: number
}

/**
 * One arm of a comparison. `prepare` and `verify` run outside the timed span, in every round.
 *
 * @category models
 * @since 0.1.0
 */
export interface Arm {
  readonly prepare?: () => void | Promise<void>
  readonly run: () => void | Promise<void>
  readonly verify?: () => void | Promise<void>
}

/**
 * Samples of all arms, one number a round in each list.
 *
 * @category models
 * @since 0.1.0
 */
export type RoundSamples<Name extends string> = Record<
  Name,
  { readonly wallMs: Array<number>; readonly cpuMs: Array<number> }
>

const timed = async (arm: Arm): Promise<Timing> => {
  await arm.prepare?.()
  const cpu = process.cpuUsage()
  const start = performance.now()
  // Awaiting a plain value costs a turn of the microtask queue; synchronous arms must not pay it inside the span.
  const pending = arm.run()
  if (pending !== undefined) await pending
  const wallMs = performance.now() - start
  const used = process.cpuUsage(cpu)
  await arm.verify?.()
  return { wallMs, cpuMs: (used.user + used.system) / 1000 }
}

/**
 * Runs `warmups` untimed and `rounds` timed rounds over all arms.
 *
 * @category running
 * @since 0.1.0
 */
export const pairedRounds = async <Name extends string>(
  arms: Record<Name, Arm>,
  options: { readonly rounds: number; readonly warmups: number }
): Promise<RoundSamples<Name>> => {
  const names = Object.keys(arms) as Array<Name>
  const samples = Object.fromEntries(names.map((name) => [name, { wallMs: [], cpuMs: [] }])) as unknown as RoundSamples<
    Name
  >
  for (let round = -options.warmups; round < options.rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + options.warmups + turn) % names.length]!
      const timing = await timed(arms[name])
      if (round < 0) continue
      samples[name].wallMs.push(timing.wallMs)
      samples[name].cpuMs.push(timing.cpuMs)
    }
  }
  return samples
}
