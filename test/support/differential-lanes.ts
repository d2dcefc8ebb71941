/**
 * The prepared module on real lanes. How a loop is cut is up to whoever is free first, so the same call is compared
 * several times.
 */
import { NodeEngine } from "../../layers/node/engine.ts"
import type { Binding } from "../../layers/node/engine.ts"
import type { Prepared } from "../../src/plan/prepare.ts"
import { Guest, type Twin } from "./differential.ts"

/** An engine whose lanes are up, or why there is none. */
export const openLanes = async (): Promise<NodeEngine | string> => {
  const engine = new NodeEngine({ workers: 2, minimumWorkNs: 0, oversubscribe: true })
  engine.lanes.start()
  if (engine.lanes.waitUntilReady(10_000) > 0) return engine
  const { reasons } = engine.lanes.report()
  await engine.close()
  return reasons.join("; ") || "no lane came up"
}

/** A prepared module bound to an engine. */
export class OnLanes implements Twin {
  readonly guest: Guest
  readonly binding: Binding

  constructor(engine: NodeEngine, prepared: Prepared) {
    if (prepared.guest === undefined) throw new TypeError("nothing of the module was planned")
    const module = new WebAssembly.Module(prepared.guest as BufferSource)
    let instance: WebAssembly.Instance | undefined
    this.guest = new Guest(module, undefined, (own) => instance = own)
    this.binding = engine.bind(instance!, prepared)
  }

  /** Whoever is free takes the next piece: there is nothing to choose. */
  split(): void {}

  counts(): { readonly dispatches: number; readonly aborts: number } {
    const { aborts, dispatches } = this.binding.report()
    return { aborts, dispatches }
  }

  broken(): boolean {
    return false
  }

  close(): void {
    this.binding.close()
  }
}
