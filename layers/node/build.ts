/**
 * Which build of Folio this is, for what outlives a process: a patch that another build made is not used.
 *
 * @since 0.1.0
 */
const Fs = process.getBuiltinModule("node:fs")

/** Folders whose code decides what a patch holds. */
const compiler = ["src/binary", "src/analysis", "src/transform", "src/plan", "layers/node"]

/** The repository runs its TypeScript; the published package has JavaScript, one folder further down. */
const isPublished = import.meta.url.endsWith(".js")

const version = (): string => {
  const file = new URL(isPublished ? "../../../package.json" : "../../package.json", import.meta.url)
  return (JSON.parse(Fs.readFileSync(file, "utf8")) as { readonly version: string }).version
}

/** When a file was written last, in milliseconds. */
const written = (path: string): number => Fs.statSync(new URL(`../../${path}`, import.meta.url)).mtimeMs

/** The newest file of the compiler: while it is being worked on, each version of it is a build of its own. */
const newest = (): number => {
  const files = compiler.flatMap((folder) =>
    Fs.readdirSync(new URL(`../../${folder}`, import.meta.url))
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `${folder}/${name}`)
  )
  return Math.max(...files.map(written))
}

let known: string | undefined

/**
 * The version, and a time that tells apart builds of the same version: that of one file where all are written together,
 * of the newest file where they are edited one by one.
 *
 * @category identity
 * @since 0.1.0
 */
export const buildIdentity = (): string =>
  known ??= `${version()}+${Math.floor(isPublished ? written("layers/node/build.js") : newest()).toString(36)}`
