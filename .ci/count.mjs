/**
 * Prints `N passed, N failed` from the test runner's JSON report, and before it how many were skipped. A file that does
 * not load counts as one failure, and so does a report that is missing. Fails where no test ran or something failed.
 */
import { existsSync, readFileSync } from "node:fs"

const path = process.argv[2]
if (!existsSync(path)) {
  console.log("0 passed, 1 failed")
  process.exit(1)
}
const report = JSON.parse(readFileSync(path, "utf8"))
const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0)
const passed = report.numPassedTests
const failed = report.numFailedTests + unloaded.length
const skipped = report.numPendingTests + report.numTodoTests
if (skipped > 0) console.log(`${skipped} skipped`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(passed > 0 && failed === 0 ? 0 : 1)
