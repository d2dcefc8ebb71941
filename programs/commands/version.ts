/**
 * The version of the package.
 *
 * @since 0.1.0
 */
import { readFileSync } from "node:fs"

/** The manifest lies above this file both in the sources and in the published package, at different distances. */
const readVersion = (): string => {
  for (const up of ["../..", "../../.."]) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(new URL(`${up}/package.json`, import.meta.url), "utf8"))
      if (typeof manifest === "object" && manifest !== null && "version" in manifest) return String(manifest.version)
    } catch {
      continue
    }
  }
  return "unknown"
}

/**
 * @category constants
 * @since 0.1.0
 */
export const packageVersion: string = readVersion()
