// An arm that is native once more.
globalThis.preloaded = true
