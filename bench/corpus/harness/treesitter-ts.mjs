import { file, require } from "../lib/util.mjs"
export default {
  name: "treesitter-ts",
  pkg: "@vscode/tree-sitter-wasm",
  what: "tree-sitter parses 250 KB of TypeScript (C core + dynamically linked grammar)",
  async setup({ small }) {
    const T = require("@vscode/tree-sitter-wasm")
    await T.Parser.init({ wasmBinary: file("@vscode/tree-sitter-wasm/wasm/tree-sitter.wasm") })
    const L = await T.Language.load(file("@vscode/tree-sitter-wasm/wasm/tree-sitter-typescript.wasm"))
    const p = new T.Parser()
    p.setLanguage(L)
    const unit = (i) =>
      `export class C${i}<T extends { a: number }> { private m: Map<string, T> = new Map(); f${i}(x: T, y = ${i}): number { for (let k = 0; k < y; k++) { if (x.a > k && k % 3 === 0) this.m.set(\`k\${k}\`, x); else continue; } return [...this.m.values()].reduce((s, v) => s + v.a, ${i}); } }\n`
    const src = Array.from({ length: small ? 8 : 800 }, (_, i) => unit(i)).join("")
    return () => {
      const t = p.parse(src)
      const s = `${t.rootNode.descendantCount}:${t.rootNode.namedChildCount}:${t.rootNode.hasError}`
      t.delete()
      return s
    }
  }
}
