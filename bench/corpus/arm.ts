/**
 * A child process of the comparison, seen from the runner.
 */
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import { root } from "../lib/sources.ts"
import type { Answer, Request, StateEntry } from "./protocol.ts"

const child = join(import.meta.dirname, "child.ts")
const answerWithinMs = 300_000

/**
 * Node's compile cache, the same for all arms. Sources are TypeScript, and stripping their types anew in every process
 * would be counted as start-up.
 */
const compileCache = join(root, "node_modules/.cache/folio-bench")

/**
 * How to start an arm.
 *
 * @category models
 * @since 0.1.0
 */
export interface ArmOptions {
  readonly folder: string
  readonly name: string
  /** A module to preload with `--import`: the drop-in, or another hook. */
  readonly preload?: string
  readonly env?: Readonly<Record<string, string>>
  /** Without chance and clocks, to compare states; its times mean nothing. */
  readonly settled?: boolean
}

/**
 * Thrown when a child dies, fails or does not answer; the message carries the end of what it printed.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArmFailed extends Error {
  override readonly name = "ArmFailed"
}

/** The environment of a child: this one's, without anything that would turn Folio on by itself. */
const environment = (extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv => {
  const inherited = Object.entries(process.env).filter(([key]) => key === "FOLIO_WORKERS" || !key.startsWith("FOLIO_"))
  return { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: compileCache, ...extra }
}

/**
 * A long-lived child that runs one harness, driven by one request at a time.
 *
 * @category running
 * @since 0.1.0
 */
export class Arm {
  readonly #process: ChildProcess
  #printed = ""
  /** Milliseconds from the start of the process until the harness could be called. */
  startupMs = Number.NaN

  private constructor(options: ArmOptions) {
    const preload = options.preload === undefined ? [] : ["--import", options.preload]
    this.#process = fork(child, [options.folder, options.name, ...(options.settled === true ? ["settled"] : [])], {
      execArgv: ["--no-warnings", ...preload],
      env: environment(options.env ?? {}),
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    })
    const keepEnd = (chunk: Buffer): void => {
      this.#printed = (this.#printed + chunk.toString()).slice(-2000)
    }
    this.#process.stdout!.on("data", keepEnd)
    this.#process.stderr!.on("data", keepEnd)
  }

  /** Starts a child and waits until its harness is set up. */
  static async start(options: ArmOptions): Promise<Arm> {
    const arm = new Arm(options)
    const ready = await arm.#next("ready")
    arm.startupMs = ready.startupMs
    return arm
  }

  /** Calls the harness `count` times. */
  calls(count: number): Promise<Extract<Answer, { op: "calls" }>> {
    return this.#ask({ op: "calls", count }, "calls")
  }

  /** Memories and globals as they are now. */
  async state(): Promise<ReadonlyArray<StateEntry>> {
    return (await this.#ask({ op: "state" }, "state")).state
  }

  /** Writes every memory to `directory`. */
  async dump(directory: string): Promise<void> {
    await this.#ask({ op: "dump", directory }, "dump")
  }

  /** Lets the child exit by itself, so that what it writes on exit is there afterwards. */
  async close(): Promise<void> {
    if (this.#gone()) return
    const exited = new Promise<void>((resolve) => this.#process.once("exit", () => resolve()))
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 10_000)
    this.#process.send({ op: "exit" } satisfies Request, () => {})
    await exited
    clearTimeout(timer)
  }

  #ask<Op extends Answer["op"]>(request: Request, op: Op): Promise<Extract<Answer, { op: Op }>> {
    // A child that is gone closes its channel: the send then fails and the exit ends the wait.
    const answer = this.#next(op)
    this.#process.send(request, () => {})
    return answer
  }

  #gone(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  #next<Op extends Answer["op"]>(op: Op): Promise<Extract<Answer, { op: Op }>> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        this.#process.off("message", onMessage)
        this.#process.off("exit", onExit)
      }
      const fail = (reason: string): void => {
        settle()
        this.#process.kill("SIGKILL")
        reject(new ArmFailed(`${reason}${this.#printed === "" ? "" : `\n${this.#printed.trim()}`}`))
      }
      const onMessage = (message: unknown): void => {
        const answer = message as Answer
        if (answer.op === "failed") fail(answer.message)
        else if (answer.op === op) {
          settle()
          resolve(answer as Extract<Answer, { op: Op }>)
        }
      }
      const onExit = (code: number | null, signal: string | null): void => fail(`exited with ${code ?? signal}`)
      const timer = setTimeout(() => fail(`no answer within ${answerWithinMs / 1000} s`), answerWithinMs)
      this.#process.on("message", onMessage)
      this.#process.on("exit", onExit)
      if (this.#gone()) onExit(this.#process.exitCode, this.#process.signalCode)
    })
  }
}
