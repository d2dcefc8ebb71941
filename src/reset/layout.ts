/**
 * What of an instance changes while it runs, and under which hidden export each part of it is reached.
 *
 * @since 0.1.0
 */
import type { ValueType } from "../binary/module.ts"
import { hiddenPrefix } from "../plan/hidden.ts"

/**
 * Bytes of a page as a reset counts them: the smallest page of the processors that Folio tracks on, and the unit of the
 * store map.
 *
 * @category constants
 * @since 0.1.0
 */
export const RESET_PAGE = 4096

/**
 * Bytes on either side of a marked page that a reset puts back as well. A store that begins in a page may reach into the
 * next one, and stores next to one that was marked need no mark of their own.
 *
 * @category constants
 * @since 0.1.0
 */
export const MARK_REACH = 256

/**
 * Name of the hidden export of memory `index`.
 *
 * @category names
 * @since 0.1.0
 */
export const memoryExport = (index: number): string => `${hiddenPrefix}reset:memory:${index}`

/**
 * Name of the hidden export of the store map of memory `index`.
 *
 * @category names
 * @since 0.1.0
 */
export const storeMapExport = (index: number): string => `${hiddenPrefix}reset:map:${index}`

/**
 * Name of the hidden export of global `index`.
 *
 * @category names
 * @since 0.1.0
 */
export const globalExport = (index: number): string => `${hiddenPrefix}reset:global:${index}`

/**
 * Name of the hidden export of table `index`.
 *
 * @category names
 * @since 0.1.0
 */
export const tableExport = (index: number): string => `${hiddenPrefix}reset:table:${index}`

/**
 * Name of the hidden counter of dropped segments.
 *
 * @category names
 * @since 0.1.0
 */
export const dropsExport = `${hiddenPrefix}reset:drops`

/**
 * A mutable global.
 *
 * @category models
 * @since 0.1.0
 */
export interface GlobalSlot {
  readonly name: string
  readonly valueType: ValueType
}

/**
 * A table whose slots may change: by the module's own instructions, or by a host that can reach it.
 *
 * @category models
 * @since 0.1.0
 */
export interface TableSlot {
  readonly name: string
  /** Whether its slots can be copied by a module of Folio's own: tables of `funcref` and `externref`. */
  readonly type: "funcref" | "externref" | "other"
}

/**
 * The parts of an instance that a reset restores.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetLayout {
  /** Hidden export of each memory, and of its store map where the module keeps one. */
  readonly memories: ReadonlyArray<{ readonly name: string; readonly storeMap: string | undefined }>
  readonly globals: ReadonlyArray<GlobalSlot>
  /** Tables that may change; of the others only the length is checked. */
  readonly tables: ReadonlyArray<TableSlot>
  /** Hidden export of a counter of dropped segments; `undefined` where the code drops none. */
  readonly drops: string | undefined
}
