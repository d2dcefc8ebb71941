/**
 * Tasks on Node.js 24 and on Bun, which have other ways to end a thread and no system calls: the same answers, and a
 * process that ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { assemble } from "../support/wat.ts"
import { installed, present } from "./installed.ts"

const text = `(module (memory (export "memory") 2) (global $n (mut i32) (i32.const 0))
  (func (export "bump") (result i32)
    (global.set $n (i32.add (global.get $n) (i32.const 1)))
    (i32.store (i32.const 70000) (i32.add (i32.load (i32.const 70000)) (global.get $n)))
    (i32.load (i32.const 70000)))
  (func (export "trap") (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0))))`

const hosts = {
  "Node.js 24": installed(`node-${process.platform}-${process.arch}`, "bin/node"),
  Bun: installed("bun", "bin/bun.exe")
}

for (const [name, binary] of Object.entries(hosts)) {
  describe.runIf(present(name, binary))(`tasks on ${name}`, () => {
    it("end as everywhere", async () => {
      const module = Buffer.from(await assemble(text)).toString("base64")
      const program = join(import.meta.dirname, "tasks.ts")
      const host = spawnSync(binary!, [program, module], { encoding: "utf8", timeout: 50_000 })
      assert.deepStrictEqual([host.status, host.signal], [0, null], host.stderr)
      assert.deepStrictEqual(JSON.parse(host.stdout), {
        many: true,
        values: [null, -1.5, "é", [1, { a: true }], [[1, 2]], [3, 4]],
        large: [100_000, 0],
        thrown: "thrown RangeError",
        unknown: "unknown-task TypeError",
        uncloneable: "not-cloneable DataCloneError",
        late: "timeout Error",
        gone: "lane-lost Error",
        blocked: 2,
        promised: 8,
        fresh: [1, 1],
        trap: "thrown RuntimeError",
        behind: 3
      })
    })
  })
}
