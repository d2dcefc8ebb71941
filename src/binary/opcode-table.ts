/**
 * Every instruction of WebAssembly, as data: opcode, mnemonic and, for what only computes, its operand and result
 * types. Source: the core specification's index of instructions, with the relaxed SIMD, threads, wide arithmetic,
 * exception handling (old and new) and garbage collection instructions.
 *
 * A row describes consecutive opcodes: the first one, what they share, and their mnemonics in order. Signatures name
 * a type by a letter: i i32, l i64, f f32, d f64, v v128.
 *
 * @since 0.1.0
 */

/**
 * Consecutive instructions that take operands, give one result and touch nothing else.
 *
 * @category types
 * @since 0.1.0
 */
export type NumericRow = readonly [first: number, signature: `${string}:${"i" | "l" | "f" | "d" | "v"}`, names: string]

/**
 * Plain and prefixed (0xfc) numeric instructions.
 *
 * @category metadata
 * @since 0.1.0
 */
export const scalarRows: ReadonlyArray<NumericRow> = [
  [0x41, ":i", "i32.const"],
  [0x42, ":l", "i64.const"],
  [0x43, ":f", "f32.const"],
  [0x44, ":d", "f64.const"],
  [0x45, "i:i", "i32.eqz"],
  [0x46, "ii:i", "i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u i32.ge_s i32.ge_u"],
  [0x50, "l:i", "i64.eqz"],
  [0x51, "ll:i", "i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u i64.ge_s i64.ge_u"],
  [0x5b, "ff:i", "f32.eq f32.ne f32.lt f32.gt f32.le f32.ge"],
  [0x61, "dd:i", "f64.eq f64.ne f64.lt f64.gt f64.le f64.ge"],
  [0x67, "i:i", "i32.clz i32.ctz i32.popcnt"],
  [0x6a, "ii:i", "i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u i32.and i32.or i32.xor"],
  [0x74, "ii:i", "i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr"],
  [0x79, "l:l", "i64.clz i64.ctz i64.popcnt"],
  [0x7c, "ll:l", "i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u i64.and i64.or i64.xor"],
  [0x86, "ll:l", "i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr"],
  [0x8b, "f:f", "f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt"],
  [0x92, "ff:f", "f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign"],
  [0x99, "d:d", "f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt"],
  [0xa0, "dd:d", "f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign"],
  [0xa7, "l:i", "i32.wrap_i64"],
  [0xa8, "f:i", "i32.trunc_f32_s i32.trunc_f32_u"],
  [0xaa, "d:i", "i32.trunc_f64_s i32.trunc_f64_u"],
  [0xac, "i:l", "i64.extend_i32_s i64.extend_i32_u"],
  [0xae, "f:l", "i64.trunc_f32_s i64.trunc_f32_u"],
  [0xb0, "d:l", "i64.trunc_f64_s i64.trunc_f64_u"],
  [0xb2, "i:f", "f32.convert_i32_s f32.convert_i32_u"],
  [0xb4, "l:f", "f32.convert_i64_s f32.convert_i64_u"],
  [0xb6, "d:f", "f32.demote_f64"],
  [0xb7, "i:d", "f64.convert_i32_s f64.convert_i32_u"],
  [0xb9, "l:d", "f64.convert_i64_s f64.convert_i64_u"],
  [0xbb, "f:d", "f64.promote_f32"],
  [0xbc, "f:i", "i32.reinterpret_f32"],
  [0xbd, "d:l", "i64.reinterpret_f64"],
  [0xbe, "i:f", "f32.reinterpret_i32"],
  [0xbf, "l:d", "f64.reinterpret_i64"],
  [0xc0, "i:i", "i32.extend8_s i32.extend16_s"],
  [0xc2, "l:l", "i64.extend8_s i64.extend16_s i64.extend32_s"],
  [0xfc000, "f:i", "i32.trunc_sat_f32_s i32.trunc_sat_f32_u"],
  [0xfc002, "d:i", "i32.trunc_sat_f64_s i32.trunc_sat_f64_u"],
  [0xfc004, "f:l", "i64.trunc_sat_f32_s i64.trunc_sat_f32_u"],
  [0xfc006, "d:l", "i64.trunc_sat_f64_s i64.trunc_sat_f64_u"]
]

/**
 * Prefix 0xfd: vectors. Lane numbers and the bytes of a constant or shuffle are immediates, not operands.
 *
 * @category metadata
 * @since 0.1.0
 */
export const vectorRows: ReadonlyArray<NumericRow> = [
  [0xfd00c, ":v", "v128.const"],
  [0xfd00d, "vv:v", "i8x16.shuffle i8x16.swizzle"],
  [0xfd00f, "i:v", "i8x16.splat i16x8.splat i32x4.splat"],
  [0xfd012, "l:v", "i64x2.splat"],
  [0xfd013, "f:v", "f32x4.splat"],
  [0xfd014, "d:v", "f64x2.splat"],
  [0xfd015, "v:i", "i8x16.extract_lane_s i8x16.extract_lane_u"],
  [0xfd017, "vi:v", "i8x16.replace_lane"],
  [0xfd018, "v:i", "i16x8.extract_lane_s i16x8.extract_lane_u"],
  [0xfd01a, "vi:v", "i16x8.replace_lane"],
  [0xfd01b, "v:i", "i32x4.extract_lane"],
  [0xfd01c, "vi:v", "i32x4.replace_lane"],
  [0xfd01d, "v:l", "i64x2.extract_lane"],
  [0xfd01e, "vl:v", "i64x2.replace_lane"],
  [0xfd01f, "v:f", "f32x4.extract_lane"],
  [0xfd020, "vf:v", "f32x4.replace_lane"],
  [0xfd021, "v:d", "f64x2.extract_lane"],
  [0xfd022, "vd:v", "f64x2.replace_lane"],
  [0xfd023, "vv:v", "i8x16.eq i8x16.ne i8x16.lt_s i8x16.lt_u i8x16.gt_s i8x16.gt_u"],
  [0xfd029, "vv:v", "i8x16.le_s i8x16.le_u i8x16.ge_s i8x16.ge_u"],
  [0xfd02d, "vv:v", "i16x8.eq i16x8.ne i16x8.lt_s i16x8.lt_u i16x8.gt_s i16x8.gt_u"],
  [0xfd033, "vv:v", "i16x8.le_s i16x8.le_u i16x8.ge_s i16x8.ge_u"],
  [0xfd037, "vv:v", "i32x4.eq i32x4.ne i32x4.lt_s i32x4.lt_u i32x4.gt_s i32x4.gt_u"],
  [0xfd03d, "vv:v", "i32x4.le_s i32x4.le_u i32x4.ge_s i32x4.ge_u"],
  [0xfd041, "vv:v", "f32x4.eq f32x4.ne f32x4.lt f32x4.gt f32x4.le f32x4.ge"],
  [0xfd047, "vv:v", "f64x2.eq f64x2.ne f64x2.lt f64x2.gt f64x2.le f64x2.ge"],
  [0xfd04d, "v:v", "v128.not"],
  [0xfd04e, "vv:v", "v128.and v128.andnot v128.or v128.xor"],
  [0xfd052, "vvv:v", "v128.bitselect"],
  [0xfd053, "v:i", "v128.any_true"],
  [0xfd05e, "v:v", "f32x4.demote_f64x2_zero f64x2.promote_low_f32x4"],
  [0xfd060, "v:v", "i8x16.abs i8x16.neg i8x16.popcnt"],
  [0xfd063, "v:i", "i8x16.all_true i8x16.bitmask"],
  [0xfd065, "vv:v", "i8x16.narrow_i16x8_s i8x16.narrow_i16x8_u"],
  [0xfd067, "v:v", "f32x4.ceil f32x4.floor f32x4.trunc f32x4.nearest"],
  [0xfd06b, "vi:v", "i8x16.shl i8x16.shr_s i8x16.shr_u"],
  [0xfd06e, "vv:v", "i8x16.add i8x16.add_sat_s i8x16.add_sat_u i8x16.sub i8x16.sub_sat_s i8x16.sub_sat_u"],
  [0xfd074, "v:v", "f64x2.ceil f64x2.floor"],
  [0xfd076, "vv:v", "i8x16.min_s i8x16.min_u i8x16.max_s i8x16.max_u"],
  [0xfd07a, "v:v", "f64x2.trunc"],
  [0xfd07b, "vv:v", "i8x16.avgr_u"],
  [0xfd07c, "v:v", "i16x8.extadd_pairwise_i8x16_s i16x8.extadd_pairwise_i8x16_u"],
  [0xfd07e, "v:v", "i32x4.extadd_pairwise_i16x8_s i32x4.extadd_pairwise_i16x8_u"],
  [0xfd080, "v:v", "i16x8.abs i16x8.neg"],
  [0xfd082, "vv:v", "i16x8.q15mulr_sat_s"],
  [0xfd083, "v:i", "i16x8.all_true i16x8.bitmask"],
  [0xfd085, "vv:v", "i16x8.narrow_i32x4_s i16x8.narrow_i32x4_u"],
  [0xfd087, "v:v", "i16x8.extend_low_i8x16_s i16x8.extend_high_i8x16_s"],
  [0xfd089, "v:v", "i16x8.extend_low_i8x16_u i16x8.extend_high_i8x16_u"],
  [0xfd08b, "vi:v", "i16x8.shl i16x8.shr_s i16x8.shr_u"],
  [0xfd08e, "vv:v", "i16x8.add i16x8.add_sat_s i16x8.add_sat_u i16x8.sub i16x8.sub_sat_s i16x8.sub_sat_u"],
  [0xfd094, "v:v", "f64x2.nearest"],
  [0xfd095, "vv:v", "i16x8.mul i16x8.min_s i16x8.min_u i16x8.max_s i16x8.max_u"],
  [0xfd09b, "vv:v", "i16x8.avgr_u i16x8.extmul_low_i8x16_s i16x8.extmul_high_i8x16_s"],
  [0xfd09e, "vv:v", "i16x8.extmul_low_i8x16_u i16x8.extmul_high_i8x16_u"],
  [0xfd0a0, "v:v", "i32x4.abs i32x4.neg"],
  [0xfd0a3, "v:i", "i32x4.all_true i32x4.bitmask"],
  [0xfd0a7, "v:v", "i32x4.extend_low_i16x8_s i32x4.extend_high_i16x8_s"],
  [0xfd0a9, "v:v", "i32x4.extend_low_i16x8_u i32x4.extend_high_i16x8_u"],
  [0xfd0ab, "vi:v", "i32x4.shl i32x4.shr_s i32x4.shr_u"],
  [0xfd0ae, "vv:v", "i32x4.add"],
  [0xfd0b1, "vv:v", "i32x4.sub"],
  [0xfd0b5, "vv:v", "i32x4.mul i32x4.min_s i32x4.min_u i32x4.max_s i32x4.max_u i32x4.dot_i16x8_s"],
  [0xfd0bc, "vv:v", "i32x4.extmul_low_i16x8_s i32x4.extmul_high_i16x8_s"],
  [0xfd0be, "vv:v", "i32x4.extmul_low_i16x8_u i32x4.extmul_high_i16x8_u"],
  [0xfd0c0, "v:v", "i64x2.abs i64x2.neg"],
  [0xfd0c3, "v:i", "i64x2.all_true i64x2.bitmask"],
  [0xfd0c7, "v:v", "i64x2.extend_low_i32x4_s i64x2.extend_high_i32x4_s"],
  [0xfd0c9, "v:v", "i64x2.extend_low_i32x4_u i64x2.extend_high_i32x4_u"],
  [0xfd0cb, "vi:v", "i64x2.shl i64x2.shr_s i64x2.shr_u"],
  [0xfd0ce, "vv:v", "i64x2.add"],
  [0xfd0d1, "vv:v", "i64x2.sub"],
  [0xfd0d5, "vv:v", "i64x2.mul i64x2.eq i64x2.ne i64x2.lt_s i64x2.gt_s i64x2.le_s i64x2.ge_s"],
  [0xfd0dc, "vv:v", "i64x2.extmul_low_i32x4_s i64x2.extmul_high_i32x4_s"],
  [0xfd0de, "vv:v", "i64x2.extmul_low_i32x4_u i64x2.extmul_high_i32x4_u"],
  [0xfd0e0, "v:v", "f32x4.abs f32x4.neg"],
  [0xfd0e3, "v:v", "f32x4.sqrt"],
  [0xfd0e4, "vv:v", "f32x4.add f32x4.sub f32x4.mul f32x4.div f32x4.min f32x4.max f32x4.pmin f32x4.pmax"],
  [0xfd0ec, "v:v", "f64x2.abs f64x2.neg"],
  [0xfd0ef, "v:v", "f64x2.sqrt"],
  [0xfd0f0, "vv:v", "f64x2.add f64x2.sub f64x2.mul f64x2.div f64x2.min f64x2.max f64x2.pmin f64x2.pmax"],
  [0xfd0f8, "v:v", "i32x4.trunc_sat_f32x4_s i32x4.trunc_sat_f32x4_u f32x4.convert_i32x4_s f32x4.convert_i32x4_u"],
  [0xfd0fc, "v:v", "i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero"],
  [0xfd0fe, "v:v", "f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u"],
  [0xfd100, "vv:v", "i8x16.relaxed_swizzle"],
  [0xfd101, "v:v", "i32x4.relaxed_trunc_f32x4_s i32x4.relaxed_trunc_f32x4_u"],
  [0xfd103, "v:v", "i32x4.relaxed_trunc_f64x2_s_zero i32x4.relaxed_trunc_f64x2_u_zero"],
  [0xfd105, "vvv:v", "f32x4.relaxed_madd f32x4.relaxed_nmadd f64x2.relaxed_madd f64x2.relaxed_nmadd"],
  [0xfd109, "vvv:v", "i8x16.relaxed_laneselect i16x8.relaxed_laneselect"],
  [0xfd10b, "vvv:v", "i32x4.relaxed_laneselect i64x2.relaxed_laneselect"],
  [0xfd10d, "vv:v", "f32x4.relaxed_min f32x4.relaxed_max f64x2.relaxed_min f64x2.relaxed_max"],
  [0xfd111, "vv:v", "i16x8.relaxed_q15mulr_s i16x8.relaxed_dot_i8x16_i7x16_s"],
  [0xfd113, "vvv:v", "i32x4.relaxed_dot_i8x16_i7x16_add_s"]
]

/**
 * A memory access: opcode, accessed bytes, type loaded or stored, mnemonic.
 *
 * @category types
 * @since 0.1.0
 */
export type AccessRow = readonly [opcode: number, bytes: number, type: "i" | "l" | "f" | "d" | "v", name: string]

/**
 * Loads of a whole value. Atomic loads are not among them.
 *
 * @category metadata
 * @since 0.1.0
 */
export const loadRows: ReadonlyArray<AccessRow> = [
  [0x28, 4, "i", "i32.load"],
  [0x29, 8, "l", "i64.load"],
  [0x2a, 4, "f", "f32.load"],
  [0x2b, 8, "d", "f64.load"],
  [0x2c, 1, "i", "i32.load8_s"],
  [0x2d, 1, "i", "i32.load8_u"],
  [0x2e, 2, "i", "i32.load16_s"],
  [0x2f, 2, "i", "i32.load16_u"],
  [0x30, 1, "l", "i64.load8_s"],
  [0x31, 1, "l", "i64.load8_u"],
  [0x32, 2, "l", "i64.load16_s"],
  [0x33, 2, "l", "i64.load16_u"],
  [0x34, 4, "l", "i64.load32_s"],
  [0x35, 4, "l", "i64.load32_u"],
  [0xfd000, 16, "v", "v128.load"],
  [0xfd001, 8, "v", "v128.load8x8_s"],
  [0xfd002, 8, "v", "v128.load8x8_u"],
  [0xfd003, 8, "v", "v128.load16x4_s"],
  [0xfd004, 8, "v", "v128.load16x4_u"],
  [0xfd005, 8, "v", "v128.load32x2_s"],
  [0xfd006, 8, "v", "v128.load32x2_u"],
  [0xfd007, 1, "v", "v128.load8_splat"],
  [0xfd008, 2, "v", "v128.load16_splat"],
  [0xfd009, 4, "v", "v128.load32_splat"],
  [0xfd00a, 8, "v", "v128.load64_splat"],
  [0xfd05c, 4, "v", "v128.load32_zero"],
  [0xfd05d, 8, "v", "v128.load64_zero"]
]

/**
 * Stores of a whole value. Atomic stores are not among them.
 *
 * @category metadata
 * @since 0.1.0
 */
export const storeRows: ReadonlyArray<AccessRow> = [
  [0x36, 4, "i", "i32.store"],
  [0x37, 8, "l", "i64.store"],
  [0x38, 4, "f", "f32.store"],
  [0x39, 8, "d", "f64.store"],
  [0x3a, 1, "i", "i32.store8"],
  [0x3b, 2, "i", "i32.store16"],
  [0x3c, 1, "l", "i64.store8"],
  [0x3d, 2, "l", "i64.store16"],
  [0x3e, 4, "l", "i64.store32"],
  [0xfd00b, 16, "v", "v128.store"]
]

/**
 * Loads and stores of one lane of a vector.
 *
 * @category metadata
 * @since 0.1.0
 */
export const laneRows: ReadonlyArray<AccessRow> = [
  [0xfd054, 1, "v", "v128.load8_lane"],
  [0xfd055, 2, "v", "v128.load16_lane"],
  [0xfd056, 4, "v", "v128.load32_lane"],
  [0xfd057, 8, "v", "v128.load64_lane"],
  [0xfd058, 1, "v", "v128.store8_lane"],
  [0xfd059, 2, "v", "v128.store16_lane"],
  [0xfd05a, 4, "v", "v128.store32_lane"],
  [0xfd05b, 8, "v", "v128.store64_lane"]
]

/**
 * Everything else: control, variables, references, tables, bulk memory, atomics.
 *
 * @category metadata
 * @since 0.1.0
 */
export const otherRows: ReadonlyArray<readonly [first: number, names: string]> = [
  [0x00, "unreachable nop block loop if else try catch throw rethrow throw_ref end br br_if br_table return"],
  [0x10, "call call_indirect return_call return_call_indirect call_ref return_call_ref"],
  [0x18, "delegate catch_all drop select select"],
  [0x1f, "try_table local.get local.set local.tee global.get global.set table.get table.set"],
  [0x3f, "memory.size memory.grow"],
  [0xd0, "ref.null ref.is_null ref.func ref.eq ref.as_non_null br_on_null br_on_non_null"],
  [0xfb000, "struct.new struct.new_default struct.get struct.get_s struct.get_u struct.set"],
  [0xfb006, "array.new array.new_default array.new_fixed array.new_data array.new_elem"],
  [0xfb00b, "array.get array.get_s array.get_u array.set array.len array.fill array.copy"],
  [0xfb012, "array.init_data array.init_elem ref.test ref.test ref.cast ref.cast br_on_cast br_on_cast_fail"],
  [0xfb01a, "any.convert_extern extern.convert_any ref.i31 i31.get_s i31.get_u"],
  [0xfc008, "memory.init data.drop memory.copy memory.fill table.init elem.drop table.copy"],
  [0xfc00f, "table.grow table.size table.fill memory.discard"],
  [0xfc013, "i64.add128 i64.sub128 i64.mul_wide_s i64.mul_wide_u"],
  [0xfe000, "memory.atomic.notify memory.atomic.wait32 memory.atomic.wait64 atomic.fence"],
  [0xfe010, "i32.atomic.load i64.atomic.load i32.atomic.load8_u i32.atomic.load16_u"],
  [0xfe014, "i64.atomic.load8_u i64.atomic.load16_u i64.atomic.load32_u"],
  [0xfe017, "i32.atomic.store i64.atomic.store i32.atomic.store8 i32.atomic.store16"],
  [0xfe01b, "i64.atomic.store8 i64.atomic.store16 i64.atomic.store32"]
]

/**
 * Atomic read-modify-write operations: seven widths each from 0xfe01e on, in this order.
 *
 * @category metadata
 * @since 0.1.0
 */
export const atomicOperations = "add sub and or xor xchg cmpxchg"
