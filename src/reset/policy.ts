/**
 * Which rung a policy takes on a host.
 *
 * @since 0.1.0
 */
import type { ResetRung } from "./checkpoint.ts"

/**
 * What a caller asks for.
 *
 * - `whole`, `checkpoint`, `pages`: that rung
 * - `tracked`: `tracked-kernel` where the host has it, else `tracked-map`
 * - `auto`: the fastest rung that needs no help of the caller: `tracked-kernel`, else `tracked-map` if the caller tells
 *   of its own writes, else `checkpoint`, else `whole`
 *
 * @category models
 * @since 0.1.0
 */
export type ResetPolicy = "auto" | "tracked" | "checkpoint" | "whole" | "pages"

/**
 * What a host offers.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetHost {
  /** Why the operating system does not tell which pages were written; `undefined` where it does. */
  readonly kernel: string | undefined
  /** Whether modules may have several memories. */
  readonly severalMemories: boolean
}

/**
 * A rung, and why each faster one is not taken.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetChoice {
  readonly rung: ResetRung
  readonly without: ReadonlyArray<{ readonly rung: ResetRung; readonly reason: string }>
}

const noMemories = "this engine takes no module with several memories"

/**
 * Chooses the rung.
 *
 * @param touches whether the caller tells of every byte that it writes itself
 * @category choices
 * @since 0.1.0
 */
export const chooseRung = (policy: ResetPolicy, host: ResetHost, touches: boolean): ResetChoice => {
  if (policy === "whole") return { rung: "whole", without: [] }
  const without: Array<ResetChoice["without"][number]> = []
  if (!host.severalMemories) {
    const lacking: ReadonlyArray<ResetRung> = policy === "pages" || policy === "checkpoint"
      ? [policy]
      : ["tracked-kernel", "tracked-map", "checkpoint"]
    return { rung: "whole", without: lacking.map((rung) => ({ rung, reason: noMemories })) }
  }
  if (policy === "checkpoint" || policy === "pages") return { rung: policy, without }
  if (host.kernel === undefined) return { rung: "tracked-kernel", without }
  without.push({ rung: "tracked-kernel", reason: host.kernel })
  if (policy === "tracked" || touches) return { rung: "tracked-map", without }
  without.push({ rung: "tracked-map", reason: "it does not see what the host writes, unless the host tells" })
  return { rung: "checkpoint", without }
}
