/**
 * Rules about every file of the repository: its length, what it must not hold, and what its exports must say.
 */
import { assert, describe, it } from "@effect/vitest"
import { filesUnder, read } from "./tree.ts"

const folders = ["src", "services", "layers", "programs", "bench", "test", "results", ".ci"]
const everything = [...folders.flatMap(filesUnder), ...filesUnder(".").filter((path) => !path.includes("/"))]
const text = /\.(?:ts|mts|mjs|js|json|md|c|h|wat|sh)$|(?:^|\/)\.[a-z]+$|^\.ci\//
const texts = everything.filter((path) => text.test(path))
const house = texts.filter((path) => /^(?:src|services|layers|programs)\/.*\.ts$/.test(path))
const code = texts.filter((path) => /\.(?:ts|mjs)$/.test(path))

const lines = (pattern: RegExp, paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.flatMap((path) =>
    read(path).split("\n").flatMap((line, index) => pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])
  )

describe("files", () => {
  it("are at most 500 lines long", () => {
    assert.deepStrictEqual(code.filter((path) => read(path).split("\n").length > 501), [])
  })

  it("name no folder of one machine", () => {
    assert.deepStrictEqual(lines(/(?:^|[^\w./-])\/(?:work|root|home|farm|Users)\/\w/, texts), [])
  })

  it("name no registry host", () => {
    assert.deepStrictEqual(lines(/"resolved": *"http|registry\.npmj[s]|^registry *=/, texts), [])
  })

  it("hold no mark of unfinished work", () => {
    // One letter of each word stands in brackets, so that this line does not find itself.
    assert.deepStrictEqual(lines(/\b(?:T[O]DO|FIX[M]E|X[X]X|H[A]CK)\b|[Nn]ot (?:yet )?implemente[d]/, code), [])
  })

  it("leave no test out without a condition", () => {
    const tests = code.filter((path) => path.startsWith("test/"))
    assert.deepStrictEqual(
      lines(/\b(?:it|test|describe)(?:\.\w+)*\.(?:only|skip|todo)\(/, tests),
      []
    )
  })
})

describe("exports", () => {
  it("are documented, with one category and a version", () => {
    const declaration =
      /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type)\s+(\w+)/
    const undocumented = house.flatMap((path) => {
      const rows = read(path).split("\n")
      const seen = new Set<string>()
      return rows.flatMap((row, index) => {
        const name = declaration.exec(row)?.[1]
        if (name === undefined || seen.has(name)) return []
        seen.add(name)
        const end = index - 1
        if (!rows[end]?.trimEnd().endsWith("*/")) return [`${path}:${index + 1} ${name}: no comment`]
        let start = end
        while (start > 0 && !rows[start]?.trimStart().startsWith("/**")) start--
        const comment = rows.slice(start, end + 1).join("\n")
        const categories = comment.match(/@category \S/g)?.length ?? 0
        const versions = comment.match(/@since \d+\.\d+\.\d+/g)?.length ?? 0
        return categories === 1 && versions === 1
          ? []
          : [`${path}:${index + 1} ${name}: ${categories} @category, ${versions} @since`]
      })
    })
    assert.deepStrictEqual(undocumented, [])
  })
})
