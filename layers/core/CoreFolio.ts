/**
 * The facade over the smaller services: the same on every backend.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Admission, type AdmissionShape } from "../../services/Admission.ts"
import { Arena, type ArenaShape } from "../../services/Arena.ts"
import { Credits } from "../../services/Credits.ts"
import {
  ArenaRefused,
  Cancelled,
  type CreditsExhausted,
  type FallbackError,
  HostException,
  LaneLost,
  LinkFailed,
  type OpenError,
  type RunError,
  type Trap
} from "../../services/Errors.ts"
import { type Extracted, Extraction } from "../../services/Extraction.ts"
import { Folio, type FolioShape, type OpenOptions, type RunOptions, type Session } from "../../services/Folio.ts"
import { type Bound, Scheduling } from "../../services/Scheduling.ts"
import { Transport, type TransportShape } from "../../services/Transport.ts"
import { isMemory } from "../../src/wire/realm.ts"
import { importObject, type ReadImport, readImports } from "./imports.ts"
import { SessionState, thrown, type Writing } from "./session.ts"
import { emptyTally } from "./tally.ts"

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/** Why a missing memory is not allocated; undefined for what nobody would allocate. */
const unallocated = (extracted: Extracted, missing: ReadImport): string | undefined =>
  missing.kind !== "memory"
    ? undefined
    : extracted.decoded === undefined
    ? "the limits of a compiled module's import cannot be read, so no memory is made for it"
    : "a memory with 64-bit addresses is not made by itself"

/** What a failed instantiation means. The start function is part of it, so that its trap is the guest's. */
const instantiationError = (
  extracted: Extracted,
  read: ReadonlyArray<ReadImport>,
  cause: unknown
): LinkFailed | ArenaRefused | Trap | HostException => {
  const source = extracted.name
  const message = messageOf(cause)
  const words = message.replace(/^WebAssembly\.(?:Instance|instantiate)\(\): /, "")
  if (cause instanceof WebAssembly.LinkError || (cause instanceof TypeError && words !== message)) {
    const missing = read.filter((one) => one.value === undefined && one.kind !== "global")
    return new LinkFailed({
      source,
      reason: missing.length > 0 ? "missing" : "incompatible",
      imports: missing.map(({ kind, module, name }) => ({ module, name, kind })),
      detail: missing.length > 0 ? unallocated(extracted, missing[0]) ?? words : words,
      cause
    })
  }
  return cause instanceof RangeError && words !== message
    ? new ArenaRefused({ source, reason: "allocation", detail: words, cause })
    : thrown(source, "(start)", cause) as Trap | HostException
}

/** Missing 32-bit memories get one of the declared limits. */
const withMemories = (
  arena: ArenaShape,
  extracted: Extracted,
  read: ReadonlyArray<ReadImport>
): Effect.Effect<ReadonlyArray<ReadImport>, ArenaRefused | CreditsExhausted, Scope.Scope> =>
  Effect.forEach(read, (one, index) => {
    const declared = extracted.decoded?.imports[index]
    return one.value !== undefined || declared?.kind !== "memory" || declared.limits.is64
      ? Effect.succeed(one)
      : Effect.map(
        arena.allocate({ source: extracted.name, module: one.module, name: one.name, limits: declared.limits }),
        (value) => ({ ...one, value })
      )
  })

/** An instance without plans: what it exports is what the module exports. */
const unbound = (instance: WebAssembly.Instance, read: ReadonlyArray<ReadImport>): Bound => {
  const memories = [...read.map((one) => one.value), ...Object.values(instance.exports)]
  return {
    exports: instance.exports,
    memory: memories.find(isMemory),
    tally: () => emptyTally
  }
}

/** One call as it was asked for. */
interface Asked {
  readonly writing: Writing
  readonly entry: string
  readonly args: ReadonlyArray<unknown>
  readonly signal: RunOptions["signal"]
}

const call = (
  state: SessionState,
  { args, entry, signal, writing }: Asked
): Effect.Effect<unknown, Trap | HostException | LaneLost | Cancelled> => {
  const source = state.extracted.name
  if (signal?.aborted === true) return new Cancelled({ source, entry, cause: signal.reason })
  try {
    return Effect.succeed(state.unsafeCall(writing, entry, args))
  } catch (cause) {
    const error = thrown(source, entry, cause)
    if (error instanceof LaneLost) state.unsafeClose()
    return error
  }
}

/** One Effect a call; on the usual path it is made of plain code. */
const runNative = (state: SessionState, asked: Asked): Effect.Effect<unknown, RunError> =>
  Effect.suspend((): Effect.Effect<unknown, RunError> => {
    const problem = state.unsafeBegin(asked.writing, asked.entry, asked.args)
    if (problem !== undefined) return problem
    const outcome = call(state, asked)
    state.unsafeEnd()
    return outcome
  })

/** Waits for the lanes, runs, and fails when nothing was handed to them. */
const runParallel = (
  state: SessionState,
  services: { readonly admission: AdmissionShape; readonly transport: TransportShape },
  asked: Asked
): Effect.Effect<unknown, RunError | FallbackError> =>
  Effect.suspend((): Effect.Effect<unknown, RunError | FallbackError> => {
    const problem = state.unsafeBegin(asked.writing, asked.entry, asked.args)
    if (problem !== undefined) return problem
    const { admission, transport } = services
    const demand = { extracted: state.extracted, entry: asked.entry, tally: undefined }
    return admission.before({ ...demand, width: transport.lanes.report().asked + 1 }).pipe(
      Effect.zipRight(transport.awaitLanes),
      Effect.flatMap((lanes) => {
        const ready = { ...demand, width: lanes + 1, tally: state.bound.tally() }
        return admission.before(ready).pipe(
          Effect.zipRight(Effect.suspend(() => call(state, asked))),
          Effect.flatMap((result) => admission.after(ready, state.bound.tally(), result))
        )
      }),
      Effect.ensuring(Effect.sync(() => state.unsafeEnd()))
    )
  })

/**
 * The facade of the services in the context.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeFolio: Effect.Effect<
  FolioShape,
  never,
  Admission | Arena | Credits | Extraction | Scheduling | Transport
> = Effect.gen(function*() {
  const admission = yield* Admission
  const arena = yield* Arena
  const credits = yield* Credits
  const extraction = yield* Extraction
  const scheduling = yield* Scheduling
  const transport = yield* Transport

  const instantiate = Effect.fnUntraced(function*(extracted: Extracted, options: OpenOptions) {
    const source = extracted.name
    const given = yield* Effect.try({
      try: () => readImports(extracted.module, options.imports ?? {}),
      catch: (cause) => new HostException({ source, entry: "(imports)", cause })
    })
    const read = yield* withMemories(arena, extracted, given)
    const imports = importObject(read)
    const instance = yield* Effect.tryPromise({
      try: () => WebAssembly.instantiate(extracted.module, imports),
      catch: (cause) => instantiationError(extracted, read, cause)
    })
    return extracted.nativeReason === undefined && extracted.prepared !== undefined
      ? yield* scheduling.bind(instance, extracted.prepared, imports)
      : unbound(instance, read)
  })

  const open = Effect.fnUntraced(function*(source: Parameters<FolioShape["open"]>[0], options: OpenOptions = {}) {
    yield* credits.take("sessions", 1)
    const extracted = yield* extraction.extract(source, options.name)
    const state = new SessionState(extracted, yield* instantiate(extracted, options))
    yield* Effect.addFinalizer(() => Effect.sync(() => state.unsafeClose()))
    const run =
      (writing: Writing) => (entry: string, args: ReadonlyArray<unknown> = [], { fallback, signal }: RunOptions = {}) =>
        fallback === "fail"
          ? runParallel(state, { admission, transport }, { writing, entry, args, signal })
          : runNative(state, { writing, entry, args, signal })
    const session: Session = {
      name: extracted.name,
      exports: state.bound.exports,
      memory: state.bound.memory,
      run: run("values") as Session["run"],
      runBits: run("bits") as Session["runBits"],
      awaitLanes: transport.awaitLanes,
      inspect: (entry) => extraction.inspect(extracted, entry),
      report: () => state.report(transport.width)
    }
    return session
  })

  return { open: (source, options): Effect.Effect<Session, OpenError, Scope.Scope> => open(source, options) }
})

/**
 * {@link Folio} over the services of a backend.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFolio: Layer.Layer<
  Folio,
  never,
  Admission | Arena | Credits | Extraction | Scheduling | Transport
> = Layer.effect(Folio, makeFolio)
