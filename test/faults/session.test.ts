/**
 * What can go wrong with a session. One row each: the input, the tag in the error channel and what its message says.
 * Behind every row nothing may be left (threads, mappings, descriptors, credits), and each has ten seconds at most.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { channel } from "node:diagnostics_channel"
import type { Worker } from "node:worker_threads"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { Folio } from "../../services/Folio.ts"
import {
  assertSameState,
  callValues,
  exportsOf,
  fill,
  loopless,
  makeHost,
  original,
  program
} from "../conformance/program.ts"
import { assemble } from "../support/wat.ts"
import { census, nothingLeft, settle } from "./lanes-support.ts"

const BOUND = 10_000

interface Fault {
  readonly _tag: string
  readonly message: string
}

interface Row {
  readonly input: string
  readonly tag: string
  readonly says: RegExp
  readonly run: Effect.Effect<unknown, Fault, Folio | Scope.Scope>
  readonly options?: NodeFolio.NodeFolioOptions
}

const parallel: NodeFolio.NodeFolioOptions = { workers: 2, minimumWorkNs: 0 }

const memoryOf = (limits: string) => assemble(`(module (import "env" "memory" (memory ${limits})) (func (export "f")))`)
const importing = await assemble(
  `(module (import "env" "f" (func)) (import "env" "g" (global i32)) (func (export "h")))`
)
const starting = await assemble(`(module (import "env" "f" (func $f)) (start $f))`)
const trapping = await assemble(`(module (func $f unreachable) (start $f))`)
const [twoPages, wide] = [await memoryOf("2 3"), await memoryOf("i64 1")]

const open = (source: Parameters<typeof Folio.open>[0], imports?: WebAssembly.Imports) =>
  Folio.open(source, { name: "m", imports })

const session = Effect.suspend(() => open(program, makeHost().imports))

const thrown = new Error("mine")
const throwing = (): never => {
  throw thrown
}

const rows: ReadonlyArray<Row> = [
  {
    input: "bytes that are no module",
    tag: "ModuleInvalid",
    says: /m: not a usable module: .*magic word/,
    run: open(new TextEncoder().encode("nothing of the kind"))
  },
  { input: "no bytes", tag: "ModuleInvalid", says: /BufferSource argument is empty/, run: open(new Uint8Array()) },
  {
    input: "a module that breaks off",
    tag: "ModuleInvalid",
    says: /m: not a usable module/,
    run: open(program.subarray(0, program.length - 9))
  },
  {
    input: "a module that is well formed and not valid",
    tag: "ModuleInvalid",
    says: /type error|expected/,
    run: Effect.flatMap(Effect.promise(() => invalidBody()), (bytes) => open(bytes))
  },
  { input: "a path to nothing", tag: "ModuleInvalid", says: /ENOENT.*Check the path/, run: open("absent.wasm") },
  {
    input: "an address on the network",
    tag: "ModuleInvalid",
    says: /only files are read, not https: addresses/,
    run: open(new URL("https://example.com/a.wasm"))
  },
  { input: "a source of no known kind", tag: "ModuleInvalid", says: /the source is number/, run: open(7 as never) },
  { input: "missing imports", tag: "LinkFailed", says: /function import "env" "f" is missing/, run: open(importing) },
  {
    input: "an import of another kind",
    tag: "LinkFailed",
    says: /an import does not fit/,
    run: open(importing, { env: { f: () => {}, g: "seven" as never } })
  },
  {
    input: "imports whose getter throws",
    tag: "HostException",
    says: /"\(imports\)" ended with an exception.*mine/,
    run: open(importing, Object.defineProperty({}, "env", { get: throwing }))
  },
  {
    input: "a start function that throws",
    tag: "HostException",
    says: /"\(start\)".*mine/,
    run: open(starting, { env: { f: throwing } })
  },
  { input: "a start function that traps", tag: "Trap", says: /"\(start\)" trapped: unreachable/, run: open(trapping) },
  {
    input: "a memory that is beyond the limit",
    tag: "CreditsExhausted",
    says: /131072 bytes wanted, 131071 of 131071/,
    run: open(twoPages),
    options: { limits: { bytes: 2 * 65536 - 1 } }
  },
  {
    input: "a missing memory of 64 bits",
    tag: "LinkFailed",
    says: /memory import "env" "memory" is missing \(a memory with 64-bit addresses is not made by itself\)\. Give it/,
    run: open(wide)
  },
  {
    input: "a compiled module whose memory is missing",
    tag: "LinkFailed",
    says: /memory import "env" "memory" is missing \(the limits of a compiled module's import cannot be read/,
    run: Effect.suspend(() => open(new WebAssembly.Module(twoPages)))
  },
  {
    input: "a memory too small for the import",
    tag: "LinkFailed",
    says: /does not fit/,
    run: open(twoPages, { env: { memory: new WebAssembly.Memory({ initial: 1, maximum: 3 }) } })
  },
  {
    input: "one session too many",
    tag: "CreditsExhausted",
    says: /1 sessions wanted, 0 of 1 left/,
    run: Effect.zipRight(session, session),
    options: { limits: { sessions: 1 } }
  },
  {
    input: "a missing entry",
    tag: "EntryMissing",
    says: /no export "cubes"\. Exported functions: "scale"/,
    run: Effect.flatMap(session, ({ run }) => run("cubes"))
  },
  {
    input: "an entry that is no function",
    tag: "EntryMissing",
    says: /"memory" is a memory, not a function/,
    run: Effect.flatMap(session, ({ run }) => run("memory"))
  },
  {
    input: "the name of an inherited property",
    tag: "EntryMissing",
    says: /no export "toString"/,
    run: Effect.flatMap(session, ({ run }) => run("toString"))
  },
  {
    input: "too few arguments",
    tag: "ArgumentInvalid",
    says: /2 arguments for 3 parameters.*\(i32, i32, i32\) -> \(\)/,
    run: Effect.flatMap(session, ({ run }) => run("scale", [0, 1]))
  },
  {
    input: "too many arguments",
    tag: "ArgumentInvalid",
    says: /2 arguments for 1 parameter\./,
    run: Effect.flatMap(session, ({ run }) => run("half", [0, 1]))
  },
  {
    input: "an argument of another type",
    tag: "ArgumentInvalid",
    says: /argument 2: 1 is not a bigint of 64 bits/,
    run: Effect.flatMap(session, ({ run }) => run("swap", [0, 1, 2, 3]))
  },
  {
    input: "bits of a reference",
    tag: "ArgumentInvalid",
    says: /references in the signature, which have no bits/,
    run: Effect.flatMap(session, ({ runBits }) => runBits("keep", [0n]))
  },
  {
    input: "a run while another fiber's waits for its lanes",
    tag: "RunConflict",
    says: /cannot run "half" while "scale" runs/,
    run: Effect.gen(function*() {
      const { run } = yield* session
      const first = yield* Effect.fork(run("scale", [0, 5000, 3], { fallback: "fail" }))
      yield* Effect.yieldNow()
      const outcome = yield* Effect.either(run("half", [1]))
      yield* first
      return yield* outcome
    })
  },
  {
    input: "a run inside an import of another",
    tag: "RunConflict",
    says: /cannot run "half" while "visit" runs/,
    run: Effect.gen(function*() {
      const host = makeHost()
      const runtime = yield* Effect.runtime<never>()
      const { run } = yield* open(program, host.imports)
      let inner: Effect.Effect<unknown, Fault> = Effect.void
      host.tick = () => {
        inner = Runtime.runSync(runtime)(Effect.either(run("half", [1])))
        return 1
      }
      yield* run("visit", [0, 10])
      return yield* inner
    })
  },
  {
    input: "a run behind the end of the scope",
    tag: "SessionClosed",
    says: /cannot run "half": the session is closed/,
    run: Effect.flatMap(Effect.scoped(session), ({ run }) => run("half", [1]))
  },
  {
    input: "a run that was cancelled before",
    tag: "Cancelled",
    says: /nothing was executed/,
    run: Effect.flatMap(session, ({ run }) => run("fault", [], { signal: AbortSignal.abort("enough") }))
  },
  {
    input: "parallel demanded of a module without loops",
    tag: "Refused",
    says: /no plan to run "add" in parallel/,
    run: Effect.flatMap(open(loopless), ({ run }) => run("add", [1, 2], { fallback: "fail" }))
  },
  {
    input: "parallel demanded of one worker",
    tag: "NotWorthwhile",
    says: /no lane besides the owner\. It did not run/,
    run: Effect.flatMap(session, ({ run }) => run("fault", [], { fallback: "fail" })),
    options: { workers: 1 }
  },
  {
    input: "parallel demanded of lanes that come up too late",
    tag: "LaneStartTimeout",
    says: /0 of 1 lanes came up/,
    run: Effect.flatMap(session, ({ run }) => run("fault", [], { fallback: "fail" })),
    options: { startTimeoutMs: 1e-6 }
  },
  {
    input: "parallel demanded while another owner has the lanes",
    tag: "CreditsExhausted",
    says: /1 lanes wanted, 0 of/,
    run: Effect.flatMap(session, ({ awaitLanes }) => awaitLanes).pipe(
      Effect.flatMap(() =>
        Effect.flatMap(session, ({ run }) => run("fault", [], { fallback: "fail" })).pipe(
          Effect.provide(NodeFolio.layer(parallel))
        )
      )
    )
  }
]

/** An i32 where an f32 is wanted: the decoder has nothing against it. */
async function invalidBody(): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await assemble(`(module (memory 1) (func (export "f") (result f32) (f32.const 1)))`)
  const at = bytes.lastIndexOf(0x43)
  bytes.set([0x41, 1, 0x1a, 0x41, 1], at)
  return bytes
}

describe("a session, given", () => {
  for (const { input, options, run, says, tag } of rows) {
    it.live(`${input}: ${tag}`, () =>
      Effect.gen(function*() {
        // Only what is said of the error is kept: its stack may hold the session.
        const { _tag, message } = yield* Effect.flip(Effect.scoped(run)).pipe(
          Effect.map(({ _tag, message }) => ({ _tag, message })),
          Effect.provide(NodeFolio.layer({ ...parallel, ...options }))
        )
        assert.strictEqual(_tag, tag, message)
        assert.match(message, says)
        assert.notMatch(message, /\n/)
        assert.deepStrictEqual(yield* Effect.promise(() => settle(nothingLeft)), nothingLeft)
      }), BOUND)
  }

  it.live("nothing wrong: its lanes are joined when the layer ends", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const { awaitLanes, run } = yield* session
        assert.strictEqual(yield* awaitLanes, 1)
        yield* run("scale", [0, 5000, 3])
        assert.strictEqual(census().threads, 1)
      })).pipe(Effect.provide(NodeFolio.layer(parallel)))
      assert.strictEqual(census().threads, 0)
      assert.deepStrictEqual(yield* Effect.promise(() => settle(nothingLeft)), nothingLeft)
    }), BOUND)
})

describe("a lane that is ended while an import runs", () => {
  it.live("costs the session at most: the result is right, or the error is LaneLost", () =>
    Effect.gen(function*() {
      const workers: Array<Worker> = []
      const created = (message: unknown) => void workers.push((message as { worker: Worker }).worker)
      channel("worker_threads").subscribe(created)
      const [host, twin] = [makeHost(), makeHost()]
      const oracle = original(twin)
      yield* Effect.scoped(Effect.gen(function*() {
        const opened = yield* open(program, host.imports)
        yield* opened.awaitLanes
        fill(opened, oracle, 3)
        yield* opened.run("scale", [0, 20_000, 3])
        callValues(oracle, "scale", [0, 20_000, 3])
        host.tick = () => {
          for (const worker of workers) void worker.terminate()
          return 7
        }
        twin.tick = () => 7
        const outcome = yield* Effect.either(opened.run("visit", [0, 20_000]))
        if (outcome._tag === "Left") {
          assert.strictEqual(outcome.left._tag, "LaneLost")
          assert.strictEqual((yield* Effect.flip(opened.run("half", [1])))._tag, "SessionClosed")
        } else {
          assert.strictEqual(outcome.right, callValues(oracle, "visit", [0, 20_000]))
          assertSameState(opened, oracle, "after the loss")
          yield* opened.run("scale", [4, 9000, 5])
          callValues(exportsOf(opened), "scale", [0, 100, 5])
          for (const args of [[4, 9000, 5], [0, 100, 5]]) callValues(oracle, "scale", args)
          assertSameState(opened, oracle, "later")
        }
      })).pipe(Effect.provide(NodeFolio.layer(parallel)))
      channel("worker_threads").unsubscribe(created)
      assert.deepStrictEqual(yield* Effect.promise(() => settle(nothingLeft)), nothingLeft)
    }), 30_000)
})
