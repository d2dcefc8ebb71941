/**
 * WebAssembly text to bytes, instruction for instruction as written.
 */
import wabt from "wabt"

const assembler = wabt()

/** wabt knows more features than its type declarations. */
const features: object = {
  exceptions: true,
  mutable_globals: true,
  sat_float_to_int: true,
  sign_extension: true,
  simd: true,
  threads: true,
  multi_value: true,
  tail_call: true,
  bulk_memory: true,
  reference_types: true,
  multi_memory: true,
  memory64: true
}

/** Assembles one module. Throws with wabt's own message when the text is wrong. */
export const assemble = async (text: string): Promise<Uint8Array<ArrayBuffer>> => {
  const { parseWat } = await assembler
  const module = parseWat("test.wat", text, features)
  try {
    module.resolveNames()
    return new Uint8Array(module.toBinary({ write_debug_names: true }).buffer)
  } finally {
    module.destroy()
  }
}
