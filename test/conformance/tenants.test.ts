import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import * as MemoryTenants from "../../layers/memory/MemoryTenants.ts"
import * as NodeTenants from "../../layers/node/NodeTenants.ts"
import { suite } from "./tenants.ts"

const folder = mkdtempSync(join(tmpdir(), "folio-tenants-"))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0

suite("on one host and any", MemoryTenants.layer, (image, encode) => encode(image))
suite("on Node.js, images in memory", NodeTenants.layer, (image) => image)
suite("on Node.js, images in files", NodeTenants.layer, (image, encode) => {
  const file = join(folder, `${files++}.folio`)
  writeFileSync(file, encode(image))
  return file
})
