// An arm whose program computes something else.
const { instantiate } = WebAssembly
WebAssembly.instantiate = async (...args) => {
  const { instance, module } = await instantiate(...args)
  const step = (value) => instance.exports.step(value) + 1
  return { module, instance: Object.create(instance, { exports: { value: { ...instance.exports, step } } }) }
}
