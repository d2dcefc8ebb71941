/**
 * What the tests of lanes share: counting what is left behind, and driving child processes.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as Fs from "node:fs"
import { fileURLToPath } from "node:url"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import { type NativeCalls, probeNative } from "../../layers/node/ffi.ts"

/** The operating-system calls; these tests need them. */
export const nativeCalls = (): NativeCalls => {
  const calls = probeNative()
  if (typeof calls === "string") throw new Error(`these tests run on Node.js 26 on Linux: ${calls}`)
  return calls
}

const lines = (file: string): Array<string> => Fs.readFileSync(file, "utf8").split("\n")

/** What of lanes and aliased memories this process holds at this moment. */
export interface Census {
  readonly threads: number
  readonly mappings: number
  readonly descriptors: number
}

export const census = (): Census => {
  const task = (id: string): string => {
    try {
      return Fs.readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim()
    } catch {
      return ""
    }
  }
  const target = (fd: string): string => {
    try {
      return Fs.readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ""
    }
  }
  return {
    threads: Fs.readdirSync("/proc/self/task").filter((id) => task(id) === "folio-lane").length,
    mappings: lines("/proc/self/maps").filter((line) => line.includes("folio-memory")).length,
    descriptors: Fs.readdirSync("/proc/self/fd").filter((fd) => target(fd).includes("folio-memory")).length
  }
}

export const nothingLeft: Census = { threads: 0, mappings: 0, descriptors: 0 }

V8.setFlagsFromString("--expose-gc")
const collect: () => void = Vm.runInNewContext("gc")

/** Collects garbage, finalizers included, until the census is as wanted; the last census otherwise. */
export const settle = async (wanted: Census): Promise<Census> => {
  for (let round = 0; round < 100; round++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (JSON.stringify(census()) === JSON.stringify(wanted)) break
  }
  return census()
}

/** How a child process ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface Child {
  readonly process: ChildProcess
  /** Resolves when standard output holds a line. */
  line(text: string): Promise<void>
  readonly ended: Promise<Ended>
}

/** Milliseconds after which a child is taken to hang and is killed: then `signal` is "SIGKILL". */
const watchdogMilliseconds = 20_000

/** Starts `lanes-child.ts` in a mode, by default with this Node.js and no options. */
export const startChild = (
  mode: string,
  options: {
    readonly command?: ReadonlyArray<string>
    readonly nodeOptions?: ReadonlyArray<string>
    readonly env?: Record<string, string>
  } = {}
): Child => {
  const program = fileURLToPath(new URL("lanes-child.ts", import.meta.url))
  const [file, ...rest] = [...options.command ?? [], process.execPath, ...options.nodeOptions ?? [], program, mode]
  const child = spawn(file!, rest, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, ...options.env }
  })
  let stdout = ""
  let stderr = ""
  const waiting = new Map<string, () => void>()
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    for (const [line, resolve] of waiting) if (stdout.split("\n").includes(line)) resolve()
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
  const watchdog = setTimeout(() => child.kill("SIGKILL"), watchdogMilliseconds)
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => {
      clearTimeout(watchdog)
      resolve({ code, signal, stdout, stderr })
    })
  })
  return {
    process: child,
    line: (text) =>
      Promise.race([
        new Promise<void>((resolve) => waiting.set(text, resolve)),
        ended.then((how) => {
          throw new Error(`ended before it said ${text}: ${JSON.stringify(how)}`)
        })
      ]),
    ended
  }
}
