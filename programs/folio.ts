#!/usr/bin/env node
/**
 * The command `folio`. Loading the command line is most of a short run, so the engine keeps what it compiled of it in
 * the system's folder for temporary files (`NODE_DISABLE_COMPILE_CACHE=1`: it does not).
 *
 * @since 0.1.0
 */
import * as Module from "node:module"

// Node.js 20 does not have it.
Module.enableCompileCache?.()
const { main } = await import("./commands/main.ts")
main()
