/**
 * One arm of a comparison: a process that loads one harness and calls it when told to.
 *
 *     node [--import REGISTER] bench/corpus/child.ts FOLDER NAME [settled]
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { dumpMemories, observedState, observeInstances } from "./observe.ts"
import type { Answer, CallSpan, Request } from "./protocol.ts"
import { settleHost } from "./settle.ts"

type Output = ArrayBuffer | ArrayBufferView | string | number | bigint | null | undefined

interface Harness {
  readonly setup: (options: { readonly small: boolean }) => Promise<() => Output | Promise<Output>>
}

const digest = (output: Output): string => {
  const hash = createHash("sha256")
  if (ArrayBuffer.isView(output)) hash.update(new Uint8Array(output.buffer, output.byteOffset, output.byteLength))
  else if (typeof output === "object" && output !== null) hash.update(new Uint8Array(output))
  else hash.update(String(output))
  return hash.digest("hex")
}

/** Glue built for the web fetches its module from a `file:` URL or a path, which Node's `fetch` refuses. */
const fetchFiles = (): void => {
  const original = globalThis.fetch
  globalThis.fetch = async (source, ...rest) => {
    const url = typeof source === "object" && "url" in source ? source.url : String(source)
    if (!url.startsWith("file:") && !url.startsWith("/")) return original(source, ...rest)
    const type = url.endsWith(".wasm") ? "application/wasm" : "application/octet-stream"
    return new Response(readFileSync(url.startsWith("file:") ? new URL(url) : url), {
      headers: { "content-type": type }
    })
  }
}

const microseconds = (usage: NodeJS.CpuUsage): number => usage.user + usage.system

const calls = async (call: () => Output | Promise<Output>, count: number): Promise<Answer> => {
  const digests = new Set<string>()
  let wallMs = 0
  let digestUs = 0
  let last: CallSpan = { startMs: 0, endMs: 0 }
  const cpu = process.cpuUsage()
  for (let done = 0; done < count; done++) {
    const startMs = performance.now()
    const output = await call()
    last = { startMs, endMs: performance.now() }
    wallMs += last.endMs - startMs
    const thread = process.threadCpuUsage()
    digests.add(digest(output))
    digestUs += microseconds(process.threadCpuUsage(thread))
  }
  const cpuMs = (microseconds(process.cpuUsage(cpu)) - digestUs) / 1000
  return { op: "calls", wallMs, cpuMs, digests: [...digests], last }
}

const answer = (message: Answer): void => {
  process.send!(message)
}

const main = async (folder: string, name: string): Promise<void> => {
  const file = pathToFileURL(join(resolve(folder), "harness", `${name}.mjs`)).href
  const { default: harness } = await import(file) as { readonly default: Harness }
  const call = await harness.setup({ small: false })
  process.on("message", async (request: Request) => {
    try {
      if (request.op === "calls") answer(await calls(call, request.count))
      else if (request.op === "state") answer({ op: "state", state: observedState() })
      else if (request.op === "dump") {
        dumpMemories(request.directory)
        answer({ op: "dump" })
      } else process.exit(0)
    } catch (error) {
      answer({ op: "failed", message: String(error instanceof Error ? error.stack : error) })
    }
  })
  answer({ op: "ready", startupMs: performance.now() })
}

const [folder, name, host] = process.argv.slice(2)
if (host === "settled") settleHost()
fetchFiles()
observeInstances()
try {
  await main(folder!, name!)
} catch (error) {
  answer({ op: "failed", message: String(error instanceof Error ? error.stack : error) })
}
