/**
 * Imports go one way, programs → layers → services → src, as the files stand and not only as the linter matches names.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { filesUnder, folderOf, importsIn, importsOf, resolveFrom, root, staticGraph } from "./tree.ts"

const mayImport: Record<string, ReadonlyArray<string>> = {
  src: ["src"],
  services: ["src", "services"],
  layers: ["src", "services", "layers"],
  programs: ["src", "services", "layers", "programs"]
}

const house = Object.keys(mayImport).flatMap(filesUnder).filter((path) => path.endsWith(".ts"))

const wrong = (judge: (path: string, specifier: string) => string | undefined): ReadonlyArray<string> =>
  house.flatMap((path) =>
    importsOf(path).flatMap(({ specifier }) => {
      const fault = judge(path, specifier)
      return fault === undefined ? [] : [`${path} imports ${specifier}: ${fault}`]
    })
  )

describe("imports", () => {
  it("are found: the reader sees every form, and no text that only looks like one", () => {
    const source = `
      /**
       * import * as nothing from "./comment.ts"
       */
      import type { A } from "./a.ts"
      import * as b from "node:b"
      import c, {
        d
      } from "node:c"
      import "node:e"
      import type from "./type.ts"
      export { f } from "./f.ts"
      export type { G } from "./g.ts"
      // import * as nothing from "./line.ts"
      export const text = "import"
      export const later = () => import("node:h")
    `
    assert.deepStrictEqual(importsIn(source), [
      { specifier: "./a.ts", typeOnly: true, dynamic: false },
      { specifier: "node:b", typeOnly: false, dynamic: false },
      { specifier: "node:c", typeOnly: false, dynamic: false },
      { specifier: "node:e", typeOnly: false, dynamic: false },
      { specifier: "./type.ts", typeOnly: false, dynamic: false },
      { specifier: "./f.ts", typeOnly: false, dynamic: false },
      { specifier: "./g.ts", typeOnly: true, dynamic: false },
      { specifier: "node:h", typeOnly: false, dynamic: true }
    ])
  })

  it("cross folders in one direction", () => {
    assert.deepStrictEqual(
      wrong((path, specifier) => {
        if (!specifier.startsWith(".")) return undefined
        const target = folderOf(resolveFrom(path, specifier))
        return (mayImport[folderOf(path)] as ReadonlyArray<string>).includes(target) ? undefined : "against the house"
      }),
      []
    )
  })

  it("name files that are there, with their extension", () => {
    assert.deepStrictEqual(
      wrong((path, specifier) =>
        specifier.startsWith(".") && !existsSync(join(root, resolveFrom(path, specifier))) ? "no such file" : undefined
      ),
      []
    )
  })

  it("of src name no package and no host module", () => {
    assert.deepStrictEqual(
      wrong((path, specifier) => folderOf(path) === "src" && !specifier.startsWith(".") ? "not for src" : undefined),
      []
    )
  })

  it("of services name Effect and nothing of a host", () => {
    assert.deepStrictEqual(
      wrong((path, specifier) =>
        folderOf(path) === "services" && !/^(?:\.|effect\/|@effect\/platform\/)/.test(specifier)
          ? "not for a contract"
          : undefined
      ),
      []
    )
  })

  it("name modules, not barrels", () => {
    assert.deepStrictEqual(
      wrong((_, specifier) => /^(?:effect|@effect\/[a-z-]+)$/.test(specifier) ? "import the module" : undefined),
      []
    )
  })
})

describe("programs/register.ts", () => {
  it("has a static graph of the house's own files and Node's own modules", () => {
    const { files, packages } = staticGraph("programs/register.ts")
    assert.include(files, "programs/register.ts")
    assert.deepStrictEqual(packages.filter((name) => !name.startsWith("node:")), [])
  })

  it("loads exactly those files, no Effect and no binaryen", () => {
    const recorder = `import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      await import(${JSON.stringify(pathToFileURL(join(root, "programs/register.ts")).href)})
      process.stdout.write("\\n" + JSON.stringify(loaded))`
    const run = spawnSync(process.execPath, ["--input-type=module", "--eval", recorder], { encoding: "utf8" })
    assert.strictEqual(run.status, 0, run.stderr)
    const loaded = JSON.parse(run.stdout.slice(run.stdout.lastIndexOf("\n"))) as ReadonlyArray<string>
    const files = loaded.filter((url) => url.startsWith("file:"))
    const expected = staticGraph("programs/register.ts").files.map((path) => pathToFileURL(join(root, path)).href)
    assert.deepStrictEqual([...files].sort(), [...expected].sort())
  })
})
