/**
 * How many threads this process can run at once: the least of what Node.js says, of the CPUs allowed to the calling
 * thread, and of the CPU quota of its control groups. `os.availableParallelism` alone is not enough: which of the
 * other two it heeds depends on the version of libuv.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"

/**
 * CPUs that may be used.
 *
 * @category models
 * @since 0.1.0
 */
export interface CpuBudget {
  /** Threads that can run at once, at least 1. */
  readonly width: number
  /** CPUs allowed to the calling thread; `undefined` where the host does not tell. */
  readonly allowed: ReadonlyArray<number> | undefined
  /** CPUs' worth of time a control group grants; `undefined` without a limit. */
  readonly quota: number | undefined
  /** The bound that decides, for people. */
  readonly bound: string
}

const read = (file: string): string | undefined => {
  try {
    return Fs.readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/**
 * Numbers of a Linux CPU list such as `0-3,8,10-11`.
 *
 * @category parsing
 * @since 0.1.0
 */
export const parseCpuList = (list: string): ReadonlyArray<number> => {
  const cpus: Array<number> = []
  for (const [, first, last = first] of list.matchAll(/(\d+)(?:-(\d+))?/g)) {
    for (let cpu = Number(first); cpu <= Number(last); cpu++) cpus.push(cpu)
  }
  return cpus
}

/**
 * CPUs that the scheduler may give to the calling thread; `undefined` where the host does not tell.
 *
 * @category probes
 * @since 0.1.0
 */
export const allowedCpus = (): ReadonlyArray<number> | undefined => {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(read("/proc/thread-self/status") ?? "")?.[1]
  return list === undefined ? undefined : parseCpuList(list)
}

/** A mounted control-group hierarchy: where it is mounted and which group is its root there. */
interface Hierarchy {
  readonly version: 1 | 2
  readonly root: string
  readonly mount: string
}

const hierarchies = (mountinfo: string): ReadonlyArray<Hierarchy> =>
  mountinfo.split("\n").flatMap((line): Array<Hierarchy> => {
    const [before, after] = line.split(" - ")
    if (after === undefined) return []
    const [, , , root, mount] = before.split(" ")
    const [type, , options = ""] = after.split(" ")
    if (type === "cgroup2") return [{ version: 2, root, mount }]
    return type === "cgroup" && options.split(",").includes("cpu") ? [{ version: 1, root, mount }] : []
  })

/** Path of the process's group in the hierarchy: `0::/path` for version 2, `4:cpu,cpuacct:/path` for version 1. */
const groupOf = (cgroups: string, version: 1 | 2): string | undefined =>
  cgroups.split("\n").map((line) => line.split(":")).find(([id, controllers]) =>
    version === 2 ? id === "0" && controllers === "" : controllers?.split(",").includes("cpu")
  )?.slice(2).join(":")

const quotaIn = (directory: string, version: 1 | 2): number => {
  const [quota, period] = version === 2
    ? (read(Path.join(directory, "cpu.max")) ?? "").split(" ")
    : [read(Path.join(directory, "cpu.cfs_quota_us")), read(Path.join(directory, "cpu.cfs_period_us"))]
  const cpus = Number(quota) / Number(period)
  return cpus > 0 ? cpus : Number.POSITIVE_INFINITY
}

/**
 * CPUs' worth of time that the control groups of this process grant: the least of its own group and of all groups
 * above it. `undefined` without a limit.
 *
 * @param root where the files of `/proc` and the mounted hierarchies are looked up
 * @category probes
 * @since 0.1.0
 */
export const cpuQuota = (root = "/"): number | undefined => {
  const cgroups = read(Path.join(root, "proc/self/cgroup")) ?? ""
  let least = Number.POSITIVE_INFINITY
  for (const hierarchy of hierarchies(read(Path.join(root, "proc/self/mountinfo")) ?? "")) {
    const group = groupOf(cgroups, hierarchy.version)
    if (group === undefined) continue
    // Seen from inside a container the group may lie outside the mounted part; its root is then all there is.
    const inside = Path.relative(hierarchy.root, group)
    for (let at = inside.startsWith("..") ? "." : inside;; at = Path.dirname(at)) {
      least = Math.min(least, quotaIn(Path.join(root, hierarchy.mount, at), hierarchy.version))
      if (at === "" || at === ".") break
    }
  }
  return Number.isFinite(least) ? least : undefined
}

/**
 * The CPUs of this process as seen from the calling thread. A quota counts whole CPUs only: a thread that is
 * throttled for half of the time is no gain.
 *
 * @category probes
 * @since 0.1.0
 */
export const cpuBudget = (): CpuBudget => {
  const allowed = allowedCpus()
  const quota = cpuQuota()
  const bounds: ReadonlyArray<readonly [number, string]> = [
    [allowed?.length ?? Number.POSITIVE_INFINITY, "CPUs allowed to this thread"],
    [quota === undefined ? Number.POSITIVE_INFINITY : Math.floor(quota), "CPU quota of the control group"],
    [Os.availableParallelism(), "CPUs that Node.js reports"]
  ]
  const [width, name] = bounds.reduce((least, bound) => bound[0] < least[0] ? bound : least)
  return { width: Math.max(1, width), allowed, quota, bound: `${name}: ${width}` }
}
