/**
 * The loader of chunked images in a page of a real browser.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createReadStream, existsSync, rmSync, statSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { installed, load, present } from "./installed.ts"
import type { Call, Seen } from "./loader.ts"
import type { openIn } from "./page.ts"
import type { Scenario } from "./programs.ts"

/** As much of puppeteer-core as is used here. */
interface Page {
  readonly goto: (address: string) => Promise<unknown>
  readonly evaluate: <A extends ReadonlyArray<unknown>, B>(work: (...args: A) => Promise<B>, ...args: A) => Promise<B>
}
interface Browser {
  readonly newPage: () => Promise<Page>
  readonly close: () => Promise<void>
}
interface Puppeteer {
  readonly default: { readonly launch: (options: object) => Promise<Browser> }
}
interface Chromium {
  readonly default: { readonly executablePath: () => Promise<string> }
}

const here = present("a browser", installed("@sparticuz/chromium"), installed("puppeteer-core"))
const DOCUMENT = `<!doctype html><script type="module" src="/page.js"></script>`
const TYPES: Readonly<Record<string, string>> = { js: "text/javascript" }

describe.runIf(here)("a chunked image in a page", () => {
  let root = ""
  let server: Server
  let browser: Browser
  let page: Page
  let all: ReadonlyArray<Scenario> = []
  let address = ""
  /** Files of images that are on their way, and the most of them at a time. */
  const flying = { now: 0, most: 0 }

  beforeAll(async () => {
    const { bundle, scenarios, temporary } = await import("./programs.ts")
    root = temporary()
    all = await scenarios(root)
    await bundle("page.ts", join(root, "page.js"))
    server = createServer((request, response) => {
      const path = join(root, request.url ?? "")
      if (request.url === "/") response.setHeader("content-type", "text/html").end(DOCUMENT)
      else if (!existsSync(path) || !statSync(path).isFile()) response.writeHead(404).end()
      else {
        const image = /image\.\d+$/.test(path)
        if (image) flying.most = Math.max(flying.most, ++flying.now)
        response.setHeader("content-type", TYPES[path.split(".").at(-1)!] ?? "application/octet-stream")
        response.on("close", () => image && flying.now--)
        createReadStream(path).pipe(response)
      }
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { default: puppeteer } = await load<Puppeteer>("puppeteer-core")
    const { default: chromium } = await load<Chromium>("@sparticuz/chromium")
    browser = await puppeteer.launch({
      executablePath: await chromium.executablePath(),
      headless: "shell",
      args: ["--no-sandbox", "--disable-gpu"]
    })
    page = await browser.newPage()
    await page.goto(address)
  })

  afterAll(async () => {
    await browser?.close()
    await new Promise((resolve) => server === undefined ? resolve(undefined) : server.close(resolve))
    rmSync(root, { recursive: true, force: true })
  })

  const seenIn = (folder: string, calls: ReadonlyArray<Call>): Promise<Seen> =>
    page.evaluate(
      (folder, calls) => (globalThis as typeof globalThis & { readonly openIn: typeof openIn }).openIn(folder, calls),
      `/${folder}`,
      calls
    )

  it("is the state that was captured, of every kind; damage is refused with its place", async () => {
    assert.isAbove(all.length, 5)
    for (const { calls, expected, folder } of all) assert.deepStrictEqual(await seenIn(folder, calls), expected, folder)
    assert.isAtMost(flying.most, 2)
  })
})
