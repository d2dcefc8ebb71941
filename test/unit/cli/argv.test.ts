import { assert, describe, it } from "@effect/vitest"
import { arrange, unknownOption } from "../../../programs/commands/argv.ts"

describe("the order of a command line", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["run x.wasm mix -5 --json", "run --json -- x.wasm mix -5"],
    ["run --json x.wasm mix 1 true", "run --json -- x.wasm mix 1 true"],
    ["run x.wasm --workers -1 mix", "run --workers -1 -- x.wasm mix"],
    ["run x.wasm --workers=2 mix", "run --workers=2 -- x.wasm mix"],
    ["run x.wasm f -inf -nan -nan:0x1 -0x1p3 -.5 -", "run -- x.wasm f -inf -nan -nan:0x1 -0x1p3 -.5 -"],
    ["run x.wasm f -- --json -h", "run -- x.wasm f --json -h"],
    ["run x.wasm f --bad", "run --bad -- x.wasm f"],
    ["run -h", "run -h"],
    ["doctor", "doctor"],
    ["--version", "--version"],
    ["", ""]
  ]
  for (const [given, arranged] of cases) {
    it(`${given || "nothing"}`, () => {
      const tokens = given === "" ? [] : given.split(" ")
      assert.deepStrictEqual(arrange(tokens).join(" "), arranged)
    })
  }
})

describe("an option that the command does not have", () => {
  const cases: ReadonlyArray<readonly [string, string | undefined]> = [
    ["run x f --fast", "--fast"],
    ["run x f --workers 2 --verify -h", undefined],
    ["run x f --workers --fast", undefined],
    ["run x f --fast=2", "--fast"],
    ["run x f -- --fast", undefined],
    ["inspect x --verify", "--verify"],
    ["walk --fast", undefined]
  ]
  for (const [given, unknown] of cases) {
    it(`${given}`, () => assert.strictEqual(unknownOption(given.split(" ")), unknown))
  }
})
