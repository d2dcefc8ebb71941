/** The pools, resolved from the packages of this folder. */
export { Piscina } from "piscina"
export { Tinypool } from "tinypool"
