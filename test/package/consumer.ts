/**
 * A folder of its own with the packed package installed in it, as somebody else would have it.
 */
import type { SpawnSyncReturns } from "node:child_process"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** What `npm pack` says of the tarball that it made. */
export interface Tarball {
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string; readonly size: number; readonly mode: number }>
  readonly size: number
}

const npm = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    encoding: "utf8",
    shell: process.platform === "win32",
    stdio: ["ignore", "pipe", "inherit"]
  })

/** A consumer's folder. */
export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), "folio-consumer-"))
  readonly tarball: Tarball

  /** Packs the repository, which builds it, and installs the tarball. */
  constructor() {
    const packed = npm(root, "pack", "--json", "--pack-destination", this.folder)
    // The build may say something before the answer, which is an array or, in newer npm, an object by package.
    const answer = JSON.parse(packed.slice(packed.search(/^[[{]/m))) as Record<string, Tarball>
    this.tarball = Object.values(answer)[0] as Tarball
    this.write("package.json", JSON.stringify({ name: "consumer", version: "1.0.0", private: true, type: "module" }))
    npm(this.folder, "install", "--prefer-offline", join(this.folder, this.tarball.filename))
  }

  /** Writes a file of the consumer's. */
  write(name: string, content: string | Uint8Array): string {
    const path = join(this.folder, name)
    writeFileSync(path, content)
    return path
  }

  /** Runs a program in the folder; by default with the Node.js that runs the tests. */
  run(
    args: ReadonlyArray<string>,
    env: Record<string, string> = {},
    program: string = process.execPath
  ): SpawnSyncReturns<string> {
    return spawnSync(program, args, { cwd: this.folder, encoding: "utf8", env: { ...process.env, ...env } })
  }

  /** Removes the folder. */
  close(): void {
    rmSync(this.folder, { force: true, recursive: true })
  }
}
