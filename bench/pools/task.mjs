/** The task of all pools: one addition, which may throw. */
const next = (input) => {
  if (input < 0) throw new RangeError("negative")
  return input + 1
}

export default next

/** The same under its name, for Folio. */
export const tasks = { next }
