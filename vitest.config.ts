import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Only the test files pass through vite. The house itself is loaded by Node as it is, so that what is tested is
    // what runs: no transform in functions that go to a lane as text, and one copy of a module for all who import it.
    server: { deps: { external: [/\/(?:src|services|layers|programs|bench)\/.*\.ts$/] } },
    // One file at a time: tests that run real lanes need the machine's second core for themselves.
    pool: "forks",
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default", ["json", { outputFile: "test-results.json" }]]
  }
})
