/**
 * The error of tenants.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

const remedies = {
  unknown: "Add it before it is used, by its name.",
  exists: "Choose another name, or remove the one that is there.",
  program: "Pass the program that the tenant was added with, made by this service.",
  budget: "Raise `budgetBytes`, end what is in use, or remove tenants whose state is kept.",
  state: "Add it with `state: \"persist\"`.",
  closed: "Use it inside the scope of its layer."
} as const

/**
 * Why a tenant, or its program, cannot be used.
 *
 * - `unknown`, `exists`: no tenant of that name, or one already
 * - `program`: a program of another service, or another one than the tenant's
 * - `budget`: it needs more bytes than there are, nothing that is in use given up
 * - `state`: its state is reset, so there is none to capture
 * - `closed`: the layer's scope has ended
 *
 * @category errors
 * @since 0.1.0
 */
export type TenantRefusal = keyof typeof remedies

/**
 * A tenant, or its program, cannot be used.
 *
 * @category errors
 * @since 0.1.0
 */
export class TenantRefused extends Data.TaggedError("TenantRefused")<{
  /** The tenant, or the program. */
  readonly name: string
  readonly reason: TenantRefusal
  readonly detail: string
}> {
  override get message(): string {
    return `"${this.name}": ${this.detail}. ${remedies[this.reason]}`
  }
}
