/**
 * Emits the published JavaScript and declarations into an empty `dist/`: what `tsconfig.build.json` reaches from the
 * entry points and the command line, and nothing else.
 *
 * The drop-in, which a program loads before its own first line, is then joined into one file, and so is its engine: some
 * twenty files less to find and read are some milliseconds less. What else it loads later stays single.
 */
import { build } from "esbuild"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
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
if (status !== 0) process.exit(status ?? 1)

// The build is known by what was emitted, not by when.
const folders = ["src", "layers/node"].map((folder) => join(root, "dist", folder))
const hash = createHash("sha256")
for (const folder of folders) {
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (name.endsWith(".js")) hash.update(`${name}\n`).update(readFileSync(join(folder, name)))
  }
}
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const identity = `${version}+${hash.digest("hex").slice(0, 12)}`
writeFileSync(
  join(root, "dist/layers/node/build-identity.js"),
  `export const buildIdentity = () => ${JSON.stringify(identity)}\n`
)

/** Joins a module with all that it imports, in its place. */
const joined = (path, options = {}) =>
  build({
    entryPoints: [join(root, "dist", path)],
    outfile: join(root, "dist", path),
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "warning",
    ...options
  })

await joined("layers/node/dropin-engine.js")
await joined("programs/register.js", {
  // Modules are named relative to the folder that most of the joined ones come from.
  banner: { js: `const folioUrl = new URL("../layers/node/joined.js", import.meta.url).href` },
  define: { "import.meta.url": "folioUrl" },
  external: ["../layers/node/report.js"]
})
