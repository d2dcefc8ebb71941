// An arm that changes an exported global of the program, and nothing of its output.
const { instantiate } = WebAssembly
WebAssembly.instantiate = async (...args) => {
  const result = await instantiate(...args)
  result.instance.exports.calls.value += 1
  return result
}
