/**
 * Waiting for lanes to come up.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { CreditsExhausted, LaneStartTimeout, ProtocolMismatch } from "../../services/Errors.ts"
import type { LaneGroup } from "../../src/lane/lanes.ts"

/** Between two looks; a thread takes some 15 ms to start. */
const SLICE = Duration.millis(1)

/** Words with which a lane refuses an owner of another version. */
const OTHER_VERSION = /of version/

const settled = (group: LaneGroup, deadline: number): Effect.Effect<number> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const ready = group.ready()
    return now < deadline && group.report().lanes.some((lane) => lane.state === "starting")
      ? Effect.zipRight(Effect.sleep(SLICE), settled(group, deadline))
      : Effect.succeed(ready)
  })

/**
 * Starts the lanes and waits until each is up or given up, at most for a time. Succeeds with the number that are up,
 * which is at least 1 unless none was asked for.
 *
 * @category lanes
 * @since 0.1.0
 */
export const awaitLanes = (
  group: LaneGroup,
  milliseconds: number
): Effect.Effect<number, CreditsExhausted | LaneStartTimeout | ProtocolMismatch> =>
  Effect.gen(function*() {
    group.start()
    const ready = yield* settled(group, (yield* Clock.currentTimeMillis) + milliseconds)
    const { asked, lanes, reasons } = group.report()
    if (ready > 0 || asked === 0) return ready
    if (lanes.length === 0) {
      return yield* new CreditsExhausted({ credit: "lanes", wanted: asked, available: 0, limit: 0, detail: reasons[0] })
    }
    const failed = lanes.findIndex((lane) => lane.reason !== undefined)
    const detail = lanes[failed]?.reason ?? "they are still starting"
    return OTHER_VERSION.test(detail)
      ? yield* new ProtocolMismatch({ lane: failed, detail })
      : yield* new LaneStartTimeout({ wanted: asked, ready, milliseconds, detail })
  })
