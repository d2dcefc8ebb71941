/**
 * Runs the command as its users do: a process of its own.
 */
import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

/** The command. */
export const main = fileURLToPath(new URL("../../programs/folio.ts", import.meta.url))

/** A module of `modules/`. */
export const moduleFile = (name: string): string => fileURLToPath(new URL(`modules/${name}`, import.meta.url))

/** How a process ended and what it printed. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** How the process is set up. */
export interface Setting {
  readonly stdin?: Uint8Array | string
  readonly flags?: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs `folio` with arguments. */
export const folio = async (args: ReadonlyArray<string>, setting: Setting = {}): Promise<Ended> => {
  const child = spawn(process.execPath, [...setting.flags ?? [], main, ...args], {
    stdio: "pipe",
    env: { ...process.env, NO_COLOR: "", ...setting.environment }
  })
  child.stdin.end(setting.stdin)
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve))
  ])
  return { code, stdout, stderr }
}
