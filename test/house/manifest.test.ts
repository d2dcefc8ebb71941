/**
 * What the package says of itself: exact pins, entry points that exist, a lock file that works from any registry.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { filesUnder, importsOf, read, readJson, root } from "./tree.ts"

interface Manifest {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly bin: Record<string, string>
  readonly exports: Record<string, string | { readonly types: string; readonly default: string }>
  readonly dependencies: Record<string, string>
  readonly devDependencies: Record<string, string>
  readonly peerDependencies: Record<string, string>
}

interface Lock {
  readonly packages: Record<string, {
    readonly version?: string
    readonly resolved?: string
    readonly optionalDependencies?: Record<string, string>
  }>
}

const manifest = readJson<Manifest>("package.json")
const lock = readJson<Lock>("package-lock.json")
const runtime = readJson<{ readonly optionalDependencies: Record<string, string> }>("test/runtime/package.json")

/** The TypeScript file that a published path is built from. */
const source = (built: string): string => built.replace(/^(?:\.\/)?dist\//, "").replace(/(?:\.d\.ts|\.js)$/, ".ts")

describe("package.json", () => {
  it("pins every version exactly, and the lock file has those versions", () => {
    const pins = { ...manifest.dependencies, ...manifest.devDependencies, ...runtime.optionalDependencies }
    for (const [name, version] of Object.entries(pins)) {
      assert.match(version, /^\d+\.\d+\.\d+$/, name)
      assert.strictEqual(lock.packages[`node_modules/${name}`]?.version, version, name)
    }
  })

  it("is tested with a version that its own peer range admits", () => {
    for (const [name, range] of Object.entries(manifest.peerDependencies)) {
      assert.strictEqual(range, `^${manifest.devDependencies[name]}`, name)
    }
  })

  it("builds every entry point and command that it names", () => {
    const included = [...read("tsconfig.build.json").matchAll(/^ {4}"([\w./]+)",?$/gm)].map((match) =>
      match[1] as string
    )
    const targets = [
      ...Object.values(manifest.exports).flatMap((entry) => typeof entry === "string" ? [] : Object.values(entry)),
      ...Object.values(manifest.bin)
    ]
    for (const target of targets) {
      assert.isTrue(existsSync(join(root, source(target))), `${target} has no source`)
      assert.isTrue(included.some((path) => path === source(target) || source(target).startsWith(`${path}/`)), target)
    }
  })

  it("names commands that start by themselves", () => {
    for (const target of Object.values(manifest.bin)) {
      assert.strictEqual(read(source(target)).split("\n")[0], "#!/usr/bin/env node", target)
    }
  })

  it("depends on what is imported: the house at run time, tests and benches for development", () => {
    const published = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }))
    const all = new Set([manifest.name, ...published, ...Object.keys(manifest.devDependencies)])
    const missing = (folders: ReadonlyArray<string>, known: ReadonlySet<string>): ReadonlyArray<string> =>
      folders.flatMap(filesUnder).filter((path) => path.endsWith(".ts")).flatMap((path) =>
        importsOf(path)
          .map(({ specifier }) => /^(?:@[\w.-]+\/)?[\w.:-]+/.exec(specifier)?.[0] ?? specifier)
          .filter((name) => !name.startsWith(".") && !name.startsWith("node:") && !known.has(name))
          .map((name) => `${path} imports ${name}`)
      )
    assert.deepStrictEqual(missing(["src", "services", "layers", "programs"], published), [])
    assert.deepStrictEqual(missing(["test", "bench"], all), [])
  })

  it("has its version in the change log", () => {
    assert.include(read("CHANGELOG.md"), `## [${manifest.version}]`)
  })
})

describe("package-lock.json", () => {
  it("names no registry", () => {
    const resolved = Object.values(lock.packages).flatMap((entry) => entry.resolved ?? [])
    assert.deepStrictEqual(resolved, ["test/runtime"])
  })

  it("has every platform's packages, also those that this machine does not install", () => {
    for (const [path, { optionalDependencies }] of Object.entries(lock.packages)) {
      for (const name of Object.keys(optionalDependencies ?? {})) {
        const found = [`${path}/node_modules/${name}`, `node_modules/${name}`].some((at) => at in lock.packages)
        assert.isTrue(found, `${name}, which ${path} names`)
      }
    }
  })
})
