/**
 * `folio-wasm/register`, for `node --import`: the drop-in.
 *
 * @since 0.1.0
 */
import "../register.ts"
