/**
 * The type checker: TypeScript 7 with Effect's diagnostics, as the binary that `@effect/tsgo` ships for the installed
 * TypeScript. Nothing in `node_modules` is patched for it. Arguments are those of `tsc`.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

// The command knows the platform package's layout; the function `@effect/tsgo/lib/getExePath` of 0.45.0 does not. It
// looks for TypeScript from its working directory.
const tsgo = dirname(createRequire(import.meta.url).resolve("@effect/tsgo/package.json"))
const command = join(tsgo, "dist", "effect-tsgo.cjs")
const compiler = execFileSync(process.execPath, [command, "get-exe-path"], {
  cwd: import.meta.dirname,
  encoding: "utf8"
}).trim()

const { error, status } = spawnSync(compiler, process.argv.slice(2), { stdio: "inherit" })
if (error !== undefined) throw error
process.exit(status ?? 1)
