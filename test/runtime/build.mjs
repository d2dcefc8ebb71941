/**
 * Emits the published JavaScript and declarations into an empty `dist/`: what `tsconfig.build.json` reaches from the
 * entry points and the command line, and nothing else.
 */
import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

rmSync(join(root, "dist"), { force: true, recursive: true })
const { error, status } = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], {
  stdio: "inherit"
})
if (error !== undefined) throw error
process.exit(status ?? 1)
