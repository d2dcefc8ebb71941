import { file, require } from "../lib/util.mjs"
export default {
  name: "esbuild-minify",
  pkg: "esbuild-wasm",
  what: "esbuild (Go) minifies 120 KB of JS in-process via its browser build",
  async setup({ small }) {
    globalThis.self ??= globalThis
    const e = require("esbuild-wasm/lib/browser.js")
    await e.initialize({ wasmModule: await WebAssembly.compile(file("esbuild-wasm/esbuild.wasm")), worker: false })
    const src = Array.from(
      { length: small ? 4 : 600 },
      (_, i) =>
        `export function f${i}(alpha, beta) { let total = 0; for (let index = 0; index < alpha; index++) { if (index % ${
          i + 2
        } === 0 && beta) { total += index * ${i}; } else { total -= 1; } } return total; }\n`
    ).join("")
    return async () => (await e.transform(src, { minify: true, target: "es2020" })).code
  }
}
