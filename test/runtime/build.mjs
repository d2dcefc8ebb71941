/**
 * Emits the published JavaScript and declarations into an empty `dist/`: what `tsconfig.build.json` reaches from the
 * entry points and the command line, and nothing else.
 *
 * What a program loads before its own first line (the drop-in) and with its first module is then joined into one file
 * each: some twenty files less to find and read are some milliseconds less at every start. Modules with a state of their
 * own stay single.
 */
import { build } from "esbuild"
import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

rmSync(join(root, "dist"), { force: true, recursive: true })
const { error, status } = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], {
  stdio: "inherit"
})
if (error !== undefined) throw error
if (status !== 0) process.exit(status ?? 1)

/** Modules that hold state of the process: one copy of each, wherever it is asked for from. */
const single = /[\\/](?:original|require)\.js$/

for (const entry of ["programs/register.js", "layers/node/dropin.js"]) {
  const file = join(root, "dist", entry)
  await build({
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "warning",
    plugins: [{
      name: "single",
      setup: ({ onResolve }) =>
        onResolve({ filter: single }, ({ path, resolveDir }) => {
          const from = relative(dirname(file), join(resolveDir, path)).replaceAll("\\", "/")
          return { path: from.startsWith(".") ? from : `./${from}`, external: true }
        })
    }]
  })
}
