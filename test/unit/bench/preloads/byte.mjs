// An arm that changes one byte of the program's memory, and nothing of its output.
const { instantiate } = WebAssembly
WebAssembly.instantiate = async (...args) => {
  const result = await instantiate(...args)
  new Uint8Array(result.instance.exports.memory.buffer)[5000] ^= 1
  return result
}
