/**
 * Room on the stack: whether what a dispatch calls can overflow it.
 *
 * A program may exhaust the stack and catch that. An overflow amid a dispatch would leave lanes running behind its back,
 * so each dispatch first makes sure that there is room for all it calls.
 *
 * @since 0.1.0
 */
import { ByteWriter } from "../binary/writer.ts"

/** Values that the probe's frame has slots for: 16 KiB of stack, a few times what a dispatch takes. */
const VALUES = 2048

/**
 * A function that answers whether there is room, in a few nanoseconds: a frame is tested as a whole when it is
 * entered, and the calls that give it its size are never made.
 *
 *     (func $probe (param $never i32) (result i32)
 *       (if (result i32) (local.get $never)
 *         (then (i32.add (call $probe …) (i32.add (call $probe …) …)))     ;; results wait on the stack
 *         (else (i32.const 1))))
 *
 * @category constructors
 * @since 0.1.0
 */
export const stackProbe = (): () => boolean => {
  const { probe } = new WebAssembly.Instance(new WebAssembly.Module(probeModule())).exports
  const call = probe as (never: number) => number
  return () => {
    try {
      return call(0) === 1
    } catch {
      return false
    }
  }
}

const probeModule = (): Uint8Array<ArrayBuffer> => {
  const body = new ByteWriter(8 * VALUES).u8(0).u8(0x20).u8(0).u8(0x04).u8(0x7f)
  for (let k = 0; k < VALUES; k++) body.u8(0x41).u8(0).u8(0x10).u8(0)
  for (let k = 1; k < VALUES; k++) body.u8(0x6a)
  body.u8(0x05).u8(0x41).u8(1).u8(0x0b).u8(0x0b)
  return new ByteWriter()
    .fixed32(0x6d736100).fixed32(1)
    .section(1, new ByteWriter().u8(1).u8(0x60).u8(1).u8(0x7f).u8(1).u8(0x7f))
    .section(3, new ByteWriter().u8(1).u8(0))
    .section(7, new ByteWriter().u8(1).name("probe").u8(0).u8(0))
    .section(10, new ByteWriter().u8(1).u32(body.length).append(body))
    .finish()
}
