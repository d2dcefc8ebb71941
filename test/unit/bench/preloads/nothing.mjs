// An arm that is native once more.
export {}
