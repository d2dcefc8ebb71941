/**
 * Grouping, which the oldest supported engines lack.
 *
 * @since 0.1.0
 */

/**
 * Values by key, both in the order in which they come.
 *
 * @category collections
 * @since 0.1.0
 */
export const groupBy = <A, K>(values: Iterable<A>, keyOf: (value: A) => K): Map<K, Array<A>> => {
  const groups = new Map<K, Array<A>>()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}
