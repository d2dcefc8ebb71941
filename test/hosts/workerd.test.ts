/**
 * The loader of chunked images in workerd, which compiles no code at run time.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { copyFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { MODULE_NAME } from "../../src/image/chunks.ts"
import { installed, present } from "./installed.ts"
import type { Seen } from "./loader.ts"
import type { Scenario } from "./programs.ts"

const SYSTEMS: Readonly<Record<string, string>> = { linux: "linux", darwin: "darwin", win32: "windows" }
const packageName = `@cloudflare/workerd-${SYSTEMS[process.platform]}-${process.arch === "x64" ? "64" : process.arch}`
const binary = installed(packageName, process.platform === "win32" ? "bin/workerd.exe" : "bin/workerd")

const config = (root: string): string =>
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "files", disk = ${JSON.stringify(root)})
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [
    (name = "service.js", esModule = embed "service.js"),
    (name = "everything.wasm", wasm = embed "everything.wasm"),
    (name = "everything.bin", data = embed "everything.wasm"),
    (name = "large.wasm", wasm = embed "large.wasm"),
    (name = "large.bin", data = embed "large.wasm")
  ],
  bindings = [(name = "FILES", service = "files")],
  compatibilityDate = "2026-11-01"
);
`

/** Starts it, and gives the port that it listens on. */
const start = async (file: string): Promise<{ readonly child: ChildProcess; readonly port: number }> => {
  const child = spawn(binary!, ["serve", file, "--control-fd=3"], { stdio: ["ignore", "ignore", "pipe", "pipe"] })
  const said: Array<string> = []
  createInterface({ input: child.stderr! }).on("line", (line) => said.push(line))
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdio[3] as NodeJS.ReadableStream }).on("line", (line) => {
      const message = JSON.parse(line) as { readonly event: string; readonly port: number }
      if (message.event === "listen") resolve(message.port)
    })
    child.once("exit", (code) => reject(new Error(`workerd ended with ${code}: ${said.join("\n")}`)))
  })
  return { child, port }
}

describe.runIf(present("workerd", binary))("a chunked image in workerd", () => {
  let root = ""
  let running: Awaited<ReturnType<typeof start>> | undefined
  let all: ReadonlyArray<Scenario> = []

  beforeAll(async () => {
    const { bundle, scenarios, temporary } = await import("./programs.ts")
    root = temporary()
    all = await scenarios(root)
    await bundle("service.ts", join(root, "service.js"))
    for (const program of ["everything", "large"]) {
      copyFileSync(join(root, program, MODULE_NAME), join(root, `${program}.wasm`))
    }
    const file = join(root, "config.capnp")
    writeFileSync(file, config(root))
    running = await start(file)
  })

  afterAll(async () => {
    const child = running?.child
    if (child !== undefined) {
      const ended = new Promise((resolve) => child.once("exit", resolve))
      child.kill()
      await ended
    }
    rmSync(root, { recursive: true, force: true })
  })

  it("is the state that was captured, of every kind; damage is refused with its place", async () => {
    assert.isAbove(all.length, 5)
    for (const { calls, expected, folder, program } of all) {
      // The module is part of the configuration here, so that of another image cannot be served.
      if (folder === "other-module") continue
      const response = await fetch(`http://127.0.0.1:${running!.port}/`, {
        method: "POST",
        body: JSON.stringify({ program, folder, calls })
      })
      assert.deepStrictEqual(await response.json() as Seen, expected, folder)
    }
  })
})
