/** The tasks of all pools. One addition, which may throw. */
const next = (input) => {
  if (input < 0) throw new RangeError("negative")
  return input + 1
}

/** A little of what programs pass: a record with text and numbers, and another one back. */
const score = ({ id, name, tags, weights }) => {
  if (weights.length === 0) throw new RangeError("no weights")
  const scaled = weights.map((weight) => weight * id)
  return { id, label: `${name} of ${tags.length}`, total: scaled.reduce((sum, weight) => sum + weight, 0), scaled }
}

export { next, score }

/** The same under their names, for Folio. */
export const tasks = { next, score }
