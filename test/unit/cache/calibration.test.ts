/** What was measured of a machine is kept, found again, and used in the place of the defaults. */
import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  calibratedPolicy,
  calibrationFile,
  readCalibration,
  writeCalibration
} from "../../../layers/node/calibration.ts"
import { defaultPolicy, ProfitMonitor } from "../../../src/lane/monitor.ts"

const measured = { hotNs: 1_500, coldNs: 18_000, breakEvenNs: 4_000 }

const inFolder = (run: (folder: string) => void): void => {
  const folder = mkdtempSync(join(tmpdir(), "calibration-"))
  try {
    run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe("a calibration", () => {
  it("is found again, for its number of threads only", () => {
    inFolder((folder) => {
      assert.isUndefined(readCalibration(folder, 2))
      writeCalibration(folder, 2, measured)
      assert.deepStrictEqual(readCalibration(folder, 2), measured)
      assert.isUndefined(readCalibration(folder, 3))
      assert.isUndefined(readCalibration(undefined, 2))
    })
  })

  it("that is damaged, or that no idle machine has, is none", () => {
    inFolder((folder) => {
      writeCalibration(folder, 2, measured)
      for (const content of ["", "{", "null", "{}", JSON.stringify({ ...measured, hotNs: -1 })]) {
        writeFileSync(calibrationFile(folder, 2), content)
        assert.isUndefined(readCalibration(folder, 2), content)
      }
      writeCalibration(folder, 2, { ...measured, coldNs: 5e6 })
      assert.isUndefined(readCalibration(folder, 2))
    })
  })

  it("decides what is handed out", () => {
    const decide = (policy: typeof defaultPolicy, hot: boolean): string | undefined => {
      const monitor = new ProfitMonitor(policy, 10, false, false)
      // A nanosecond a unit.
      monitor.timed(1_000_000, 1_000_000)
      monitor.timed(1_000_000, 1_000_000)
      monitor.decline(1_000_000, 2, true, 0)
      return monitor.decline(15_000, 2, hot, 0)
    }
    assert.strictEqual(decide(defaultPolicy, true), "small")
    assert.isUndefined(decide(calibratedPolicy(defaultPolicy, measured), true))
    assert.strictEqual(decide(calibratedPolicy(defaultPolicy, measured), false), "cold")
    assert.strictEqual(calibratedPolicy(defaultPolicy, undefined), defaultPolicy)
    // Zero, from whoever asks for it, admits all.
    assert.isUndefined(decide({ ...calibratedPolicy(defaultPolicy, measured), minimumWorkNs: 0 }, false))
  })
})
