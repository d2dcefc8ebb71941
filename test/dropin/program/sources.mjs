// The kinds of bytes and responses that are taken, and what a later change of them does.
import { attempt, attemptAsync, ofInstance, ofModule } from "./describe.mjs"

const padded = (bytes) => {
  const buffer = new ArrayBuffer(bytes.length + 16)
  new Uint8Array(buffer, 8, bytes.length).set(bytes)
  return buffer
}

const shared = (bytes) => {
  const view = new Uint8Array(new SharedArrayBuffer(bytes.length))
  view.set(bytes)
  return view
}

const resizable = (bytes) => {
  const buffer = new ArrayBuffer(bytes.length, { maxByteLength: bytes.length * 2 })
  new Uint8Array(buffer).set(bytes)
  return buffer
}

const detached = (bytes) => {
  const buffer = bytes.slice().buffer
  structuredClone(buffer, { transfer: [buffer] })
  return buffer
}

class Tricky extends Uint8Array {
  get buffer() {
    throw new EvalError("buffer was read")
  }
  get byteLength() {
    throw new EvalError("byteLength was read")
  }
}

const type = { headers: { "content-type": "application/wasm" } }

const responses = (bytes) => ({
  good: () => new Response(bytes, type),
  promised: () => Promise.resolve(new Response(bytes, type)),
  // oxlint-disable-next-line unicorn/no-thenable
  thenable: () => ({ then: (resolve) => resolve(new Response(bytes, type)) }),
  noType: () => new Response(bytes),
  wrongType: () => new Response(bytes, { headers: { "content-type": "application/wasm; charset=utf-8" } }),
  notFound: () => new Response(bytes, { ...type, status: 404 }),
  noBody: () => new Response(null, type),
  empty: () => new Response(new Uint8Array(), type),
  bad: () => new Response(bytes.subarray(0, 12), type),
  text: () => new Response("not a module", type),
  chunked: () =>
    new Response(
      new ReadableStream({
        start: (controller) => {
          for (let at = 0; at < bytes.length; at += 7) controller.enqueue(bytes.slice(at, at + 7))
          controller.close()
        }
      }),
      type
    ),
  notBytes: () =>
    new Response(
      new ReadableStream({
        start: (controller) => {
          controller.enqueue("text")
          controller.close()
        }
      }),
      type
    ),
  broken: () =>
    new Response(
      new ReadableStream({
        start: (controller) => {
          controller.enqueue(bytes.slice(0, 20))
          controller.error(new EvalError("the connection broke"))
        }
      }),
      type
    ),
  rejected: () => Promise.reject(new EvalError("no connection"))
})

export const observeSources = async (bytes) => {
  const seen = {}
  const sources = {
    bytes: () => bytes.slice(),
    buffer: () => bytes.slice().buffer,
    node: () => Buffer.from(bytes),
    offset: () => new Uint8Array(padded(bytes), 8, bytes.length),
    view: () => new DataView(padded(bytes), 8, bytes.length),
    words: () => new Uint16Array(new Uint8Array([...bytes, ...(bytes.length % 2 ? [0] : [])]).buffer),
    clamped: () => new Uint8ClampedArray(bytes),
    shared: () => shared(bytes),
    sharedView: () => new DataView(shared(bytes).buffer),
    resizable: () => resizable(bytes),
    resizableView: () => new Uint8Array(resizable(bytes)),
    detached: () => detached(bytes),
    tricky: () => new Tricky(bytes)
  }
  for (const [name, source] of Object.entries(sources)) {
    seen[`new Module(${name})`] = attempt(() => ofModule(new WebAssembly.Module(source())))
    seen[`compile(${name})`] = await attemptAsync(async () => ofModule(await WebAssembly.compile(source())))
    seen[`instantiate(${name})`] = await attemptAsync(async () =>
      ofInstance((await WebAssembly.instantiate(source())).instance)
    )
    seen[`changed(${name})`] = await attemptAsync(async () => {
      const value = source()
      const promise = WebAssembly.compile(value)
      if (value instanceof ArrayBuffer && value.byteLength > 0) new Uint8Array(value).fill(0)
      else if (value instanceof Uint8Array && !(value instanceof Tricky)) value.fill(0)
      return ofModule(await promise)
    })
  }
  for (const [name, response] of Object.entries(responses(bytes))) {
    seen[`compileStreaming(${name})`] = await attemptAsync(async () =>
      ofModule(await WebAssembly.compileStreaming(response()))
    )
    seen[`instantiateStreaming(${name})`] = await attemptAsync(async () =>
      ofInstance((await WebAssembly.instantiateStreaming(response())).instance)
    )
  }
  const used = new Response(bytes, type)
  await used.arrayBuffer()
  seen.used = await attemptAsync(() => WebAssembly.compileStreaming(used))
  const consumed = new Response(bytes, type)
  await WebAssembly.compileStreaming(consumed)
  seen.consumed = [consumed.bodyUsed, await attemptAsync(() => consumed.arrayBuffer())]
  return seen
}
