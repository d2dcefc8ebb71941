// An arm that dies while it sets up.
WebAssembly.instantiate = () => {
  console.error("cannot go on")
  process.exit(3)
}
