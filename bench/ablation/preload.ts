/**
 * Preloaded into a program: its modules are prepared with the mechanisms that `ABLATION_MECHANISMS` names, and what is
 * planned runs apart in two pieces, one after the other on the program's own thread, where an execution is long enough
 * for threads. So it is known which share of the time could be shared, on a machine that is busy with something else,
 * too. What was seen is written to `ABLATION_REPORT` on exit.
 */
import { writeFileSync } from "node:fs"
import { InProcessLanes, InProcessMemory } from "../../layers/memory/lanes.ts"
import { Permutation } from "../../layers/memory/permutation.ts"
import { compileOptimised } from "../../layers/node/optimised.ts"
import { Attachment, type LoopState } from "../../src/lane/attachment.ts"
import { Dispatcher } from "../../src/lane/dispatcher.ts"
import { defaultPolicy } from "../../src/lane/monitor.ts"
import { memoryName } from "../../src/plan/hidden.ts"
import type { Mechanism } from "../../src/plan/mechanisms.ts"
import { prepare, type Prepared } from "../../src/plan/prepare.ts"

/** What a program did with some mechanisms. */
export interface Ablated {
  /** Milliseconds in executions that ran apart. */
  readonly apartMs: number
  readonly dispatches: number
  readonly aborts: number
  readonly planned: number
  readonly refused: number
  /** Refused loops by their first reason. */
  readonly reasons: Readonly<Record<string, number>>
}

/** A generous guess of an instruction's time: what the monitor of real lanes starts from is finer, and soon measured. */
const NS_PER_UNIT = 0.3

const mechanisms = (process.env["ABLATION_MECHANISMS"] ?? "").split(",").filter((name) => name !== "") as Array<
  Mechanism
>
const preparedOf = new WeakMap<WebAssembly.Module, Prepared>()
const reasons: Record<string, number> = {}
const total = { apartMs: 0, dispatches: 0, planned: 0, refused: 0 }
const attachments: Array<Attachment> = []

class Timed extends Dispatcher {
  override run(attachment: Attachment, state: LoopState, iterations: number, units: number): number {
    if (iterations * units * NS_PER_UNIT < defaultPolicy.minimumWorkNs) {
      return attachment.decline(state, "small", iterations)
    }
    const start = performance.now()
    const done = super.run(attachment, state, iterations, units)
    if (done > 0) {
      total.apartMs += performance.now() - start
      total.dispatches++
    }
    return done
  }
}

const { Instance, Module, compile, instantiate } = WebAssembly
const dispatcher = new Timed(
  new InProcessLanes(1, new Permutation("forward")),
  { ...defaultPolicy, minimumWorkNs: 0 },
  {
    now: () => performance.now(),
    busy: () => 0,
    compile: (bytes, hot) => hot ? compileOptimised(bytes) : new Module(bytes as BufferSource),
    instantiate: (module, imports) => new Instance(module, imports),
    later: (milliseconds, run) => void setTimeout(run, milliseconds).unref()
  },
  "fixed"
)

/** Node.js compiles modules of its own: parsers, the stripper of types. */
const byNode = (): boolean => (new Error().stack ?? "").includes("node:internal/deps/")

const bytesOf = (source: unknown): Uint8Array | undefined =>
  ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : source instanceof ArrayBuffer
    ? new Uint8Array(source)
    : undefined

/** The bytes that the engine gets, and what they were prepared to. */
const patch = (source: unknown): { readonly source: BufferSource; readonly prepared: Prepared | undefined } => {
  const bytes = bytesOf(source)
  if (bytes === undefined || byNode()) return { source: source as BufferSource, prepared: undefined }
  let prepared: Prepared
  try {
    prepared = prepare(bytes, { mechanisms })
  } catch {
    return { source: source as BufferSource, prepared: undefined }
  }
  for (const loop of prepared.plan.loops) {
    if (loop._tag === "planned") total.planned++
    else {
      total.refused++
      const [{ code }] = loop.reasons
      reasons[code] = (reasons[code] ?? 0) + 1
    }
  }
  return { source: (prepared.guest ?? source) as BufferSource, prepared }
}

const remember = (module: WebAssembly.Module, prepared: Prepared | undefined): WebAssembly.Module => {
  if (prepared?.guest !== undefined) preparedOf.set(module, prepared)
  return module
}

const bind = (instance: WebAssembly.Instance, module: WebAssembly.Module): WebAssembly.Instance => {
  const prepared = preparedOf.get(module)
  if (prepared !== undefined) {
    const memory = instance.exports[memoryName] as WebAssembly.Memory
    attachments.push(new Attachment(dispatcher, instance.exports, prepared, memory, new InProcessMemory(memory)))
  }
  return instance
}

const OwnModule: typeof Module = new Proxy(Module, {
  construct(target, [bytes, ...rest]: [BufferSource], newTarget) {
    const { prepared, source } = patch(bytes)
    return remember(
      Reflect.construct(target, [source, ...rest], newTarget === OwnModule ? target : newTarget),
      prepared
    )
  }
})
const OwnInstance: typeof Instance = new Proxy(Instance, {
  construct: (target, args: [WebAssembly.Module], newTarget) =>
    bind(Reflect.construct(target, args, newTarget === OwnInstance ? target : newTarget), args[0])
})
WebAssembly.Module = OwnModule
WebAssembly.Instance = OwnInstance
WebAssembly.compile = async (bytes: BufferSource, ...rest: []) => {
  const { prepared, source } = patch(bytes)
  return remember(await compile(source, ...rest), prepared)
}
WebAssembly.instantiate = (async (bytes: BufferSource | WebAssembly.Module, ...rest: []) => {
  if (bytes instanceof Module) return bind(await instantiate(bytes, ...rest), bytes)
  const { prepared, source } = patch(bytes)
  const result = await instantiate(source, ...rest)
  bind(result.instance, remember(result.module, prepared))
  return result
}) as typeof instantiate
const whole = async (response: Response | PromiseLike<Response>): Promise<ArrayBuffer> => (await response).arrayBuffer()
WebAssembly.compileStreaming = async (response) => WebAssembly.compile(await whole(response))
WebAssembly.instantiateStreaming = async (response, imports) => WebAssembly.instantiate(await whole(response), imports)

// Compiling in the background keeps no process alive, and a harness that is being set up may wait for nothing else.
setInterval(() => {}, 60_000)

process.on("exit", () => {
  const aborts = attachments.reduce((sum, { counts }) => sum + counts.report().aborts, 0)
  writeFileSync(process.env["ABLATION_REPORT"]!, JSON.stringify({ ...total, aborts, reasons } satisfies Ablated))
})
