#!/usr/bin/env node
/**
 * Runs its arguments on Node.js 26, whatever Node.js this file itself was started by.
 *
 *     node test/runtime/node26.mjs FILE [ARGS…]
 *
 * Plain JavaScript, because it must start on Node.js 20. The binary is, in this order: the platform package that the
 * workspace `test/runtime` installs, the `node` package where somebody has added it (`npm install --no-save
 * node@26.10.0`, for a platform without a package of its own), or the running Node.js when it is new enough.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { constants } from "node:os"
import { delimiter, dirname, join } from "node:path"

const version = "26.10.0"
const executable = process.platform === "win32" ? "node.exe" : "node"
const require = createRequire(import.meta.url)

/** The binary inside an installed package, or `undefined` where the package is not installed. */
const inPackage = (name) => {
  let manifest
  try {
    manifest = require.resolve(`${name}/package.json`)
  } catch {
    return undefined
  }
  const file = join(dirname(manifest), "bin", executable)
  return existsSync(file) ? file : undefined
}

const platform = process.platform === "win32" ? "win" : process.platform
const candidates = [
  `node-${platform}-${process.arch}`,
  `node-bin-${platform}-${process.arch}`,
  "node"
]

const findBinary = () => {
  for (const name of candidates) {
    const file = inPackage(name)
    if (file !== undefined) return file
  }
  return Number.parseInt(process.versions.node, 10) >= 26 ? process.execPath : undefined
}

const binary = findBinary()
if (binary === undefined) {
  console.error(
    `Node.js ${version} is needed and there is none for ${process.platform}-${process.arch}: run "npm ci" with optional`
      + ` dependencies, or "npm install --no-save node@${version}", or start this with Node.js 26 (this is ${process.version}).`
  )
  process.exit(1)
}

// Children that ask for plain "node" (a shebang, a test that spawns a program) get the same one.
process.env.PATH = dirname(binary) + delimiter + (process.env.PATH ?? "")

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" })

// A terminal sends its signals to the whole foreground group, so the child has an interrupt from there already.
const fromTerminal = process.stdin.isTTY === true ? new Set(["SIGINT", "SIGQUIT"]) : new Set()
const forward = (signal) => {
  if (!fromTerminal.has(signal)) child.kill(signal)
}
const known = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR2", "SIGCONT"]
const forwarded = known.filter((name) => name in constants.signals)
for (const signal of forwarded) process.on(signal, forward)

child.on("error", (error) => {
  console.error(`Node.js ${version} at ${binary} does not start: ${error.message}`)
  process.exit(1)
})
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code ?? 1)
  }
  for (const name of forwarded) process.off(name, forward)
  process.kill(process.pid, signal)
})
