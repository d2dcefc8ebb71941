/**
 * The compiled fixtures of `test/fixtures/wat`, and what they import and promise.
 */
import { fixtureBytes, fixtureNames, fixtureText } from "../../fixtures/wat/files.ts"

/** What no released engine takes: decoded and copied only. */
export const decodeOnly: ReadonlySet<string> = new Set(["custom-page-sizes"])

/** Every fixture. */
export const fixtures: ReadonlyArray<{ readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }> =
  fixtureNames().map((name) => ({ name, bytes: fixtureBytes(name) }))

/** The fixtures that run here. */
export const runnable = fixtures.filter(({ name }) => !decodeOnly.has(name))

/** Fresh values for everything that a fixture imports. */
export const imports = (): WebAssembly.Imports => {
  const host = {
    add: (a: number, b: number) => a + b,
    base: 40,
    memory: new WebAssembly.Memory({ initial: 1, maximum: 4 }),
    object: {},
    table: new WebAssembly.Table({ initial: 8, element: "anyfunc" }),
    tag: new WebAssembly.Tag({ parameters: ["i32"] })
  }
  // The declarations of imports know neither tags nor references.
  return { host: host as unknown as WebAssembly.ModuleImports }
}

/** The lines `;; expect NAME = VALUE` of a fixture's text, in order: exported functions and what they return. */
export const expectations = (name: string): ReadonlyArray<readonly [name: string, value: string]> =>
  Array.from(
    fixtureText(name).matchAll(/^;; expect (\S+) = (.*)$/gm),
    ([, exported, value]) => [exported ?? "", value ?? ""] as const
  )

/** Calls the exports that a fixture's text promises something of, and returns what they gave. */
export const observe = (name: string, exports: WebAssembly.Exports): ReadonlyArray<readonly [string, string]> =>
  expectations(name).map(([exported]) => {
    const call = exports[exported]
    if (typeof call !== "function") throw new TypeError(`${name} exports no function ${exported}`)
    return [exported, String(call())] as const
  })
