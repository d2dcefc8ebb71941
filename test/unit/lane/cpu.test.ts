import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { afterEach, assert, describe, it } from "vitest"
import { Placement } from "../../../layers/node/affinity.ts"
import { allowedCpus, cpuBudget, cpuQuota, parseCpuList } from "../../../layers/node/cpu.ts"
import { nativeCalls } from "../../faults/lanes-support.ts"

const roots: Array<string> = []

/** A file tree such as `/proc` and `/sys` would show it. */
const tree = (files: Record<string, string>): string => {
  const root = Fs.mkdtempSync(Path.join(Os.tmpdir(), "folio-cpu-"))
  roots.push(root)
  for (const [file, text] of Object.entries(files)) {
    Fs.mkdirSync(Path.join(root, Path.dirname(file)), { recursive: true })
    Fs.writeFileSync(Path.join(root, file), text)
  }
  return root
}

afterEach(() => {
  for (const root of roots.splice(0)) Fs.rmSync(root, { recursive: true })
})

describe("the quota of the control groups", () => {
  const v2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
  const v1 = "36 25 0:32 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro shared:9 - cgroup cgroup rw,cpu,cpuacct\n"

  it("is that of the own group (version 2)", () => {
    assert.strictEqual(
      cpuQuota(tree({
        "proc/self/cgroup": "0::/app\n",
        "proc/self/mountinfo": v2,
        "sys/fs/cgroup/app/cpu.max": "150000 100000\n"
      })),
      1.5
    )
  })

  it("is the least of all groups above (version 2)", () => {
    assert.strictEqual(
      cpuQuota(tree({
        "proc/self/cgroup": "0::/slice/app/inner\n",
        "proc/self/mountinfo": v2,
        "sys/fs/cgroup/slice/cpu.max": "200000 100000\n",
        "sys/fs/cgroup/slice/app/cpu.max": "max 100000\n",
        "sys/fs/cgroup/slice/app/inner/cpu.max": "400000 100000\n"
      })),
      2
    )
  })

  it("is found where a container sees only its own part of the hierarchy (version 1)", () => {
    assert.strictEqual(
      cpuQuota(tree({
        "proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n",
        "proc/self/mountinfo": v1,
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "300000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"
      })),
      3
    )
  })

  it("is none where nothing limits or nothing can be read", () => {
    assert.isUndefined(cpuQuota(tree({
      "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n",
      "proc/self/mountinfo": v1,
      "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
      "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"
    })))
    assert.isUndefined(cpuQuota(tree({})))
  })
})

describe("the CPUs of a thread", () => {
  it("are read from a list", () => {
    assert.deepStrictEqual(parseCpuList("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11])
    assert.deepStrictEqual(parseCpuList("5"), [5])
    assert.deepStrictEqual(parseCpuList(""), [])
  })

  it("are what the scheduler itself says", () => {
    assert.deepStrictEqual(allowedCpus(), nativeCalls().getAffinity(0))
  })

  it("bound the width, which is at least one", () => {
    const { allowed, bound, width } = cpuBudget()
    assert.isAtLeast(width, 1)
    assert.isAtMost(width, allowed!.length)
    assert.match(bound, new RegExp(`: ${width}$`))
  })
})

describe("placement", () => {
  /** The real calls on a machine of four CPUs of which the owner is on number 2. */
  const machine = (): {
    placement: Placement
    bound: Array<readonly [number, ReadonlyArray<number>]>
    at: (cpu: number) => void
  } => {
    const bound: Array<readonly [number, ReadonlyArray<number>]> = []
    let owner = 2
    const calls = {
      ...nativeCalls(),
      currentCpu: () => owner,
      setAffinity: (thread: number, cpus: ReadonlyArray<number>) => (bound.push([thread, cpus]), true)
    }
    return { placement: new Placement(calls, [0, 1, 2, 3]), bound, at: (cpu) => owner = cpu }
  }

  it("gives each lane a CPU of its own that is not the owner's", () => {
    const { bound, placement } = machine()
    for (const lane of [0, 1, 2]) assert.isTrue(placement.place(lane, 100 + lane))
    assert.deepStrictEqual(bound, [[100, [0]], [101, [1]], [102, [3]]])
  })

  it("moves a lane from the owner's CPU to the one that is free", () => {
    const { at, bound, placement } = machine()
    for (const lane of [0, 1, 2]) placement.place(lane, 100 + lane)
    at(1)
    assert.isTrue(placement.place(1, 101))
    assert.deepStrictEqual(bound.at(-1), [101, [2]])
    assert.strictEqual(placement.cpuOf(1), 2)
  })

  it("says so when there is no other CPU", () => {
    const calls = { ...nativeCalls(), currentCpu: () => 0 }
    const placement = new Placement(calls, [0])
    assert.isFalse(placement.place(0, 1))
    assert.strictEqual(placement.cpuOf(0), -1)
  })
})
