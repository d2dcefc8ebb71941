/**
 * The packages of `test/consumers`, installed as locked where they are not.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../consumers", import.meta.url))

const install = (): void => {
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly dependencies: Record<string, string>
  }
  const missing = Object.keys(dependencies).filter((name) => !existsSync(join(folder, "node_modules", name)))
  if (missing.length === 0) return
  const npm = spawnSync("npm", ["ci", "--prefer-offline"], { cwd: folder, encoding: "utf8", shell: true })
  if (npm.status !== 0) throw new Error(`${missing.join(", ")} cannot be installed: ${npm.stderr}`)
}

/** A file of a package. */
export const consumerFile = (path: string): Buffer => {
  install()
  return readFileSync(join(folder, "node_modules", path))
}

/** The module that a JavaScript file carries as base64 text. */
export const inlinedModule = (path: string): Buffer => {
  const text = /["'`](AGFzbQE[A-Za-z0-9+/=]+)["'`]/.exec(consumerFile(path).toString("utf8"))?.[1]
  if (text === undefined) throw new Error(`${path} carries no module`)
  return Buffer.from(text, "base64")
}
