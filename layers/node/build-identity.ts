/**
 * Which build of Folio this is: patched modules of another one cannot be used. Publishing writes the answer in the place
 * of this file (`test/runtime/build.mjs`); what stands here is for the sources themselves.
 *
 * @since 0.1.0
 */
const Fs = process.getBuiltinModule("node:fs")

/** Folders whose code decides what a patched module holds. */
const compiler = ["src/binary", "src/analysis", "src/transform", "src/plan", "layers/node"]

const version = (): string => {
  const file = new URL("../../package.json", import.meta.url)
  return (JSON.parse(Fs.readFileSync(file, "utf8")) as { readonly version: string }).version
}

/** When the newest file of the compiler was written (ms): each version that is being worked on is a build of its own. */
const newest = (): number =>
  Math.max(...compiler.flatMap((folder) => {
    const directory = new URL(`../../${folder}/`, import.meta.url)
    return Fs.readdirSync(directory).map((name) => Fs.statSync(new URL(name, directory)).mtimeMs)
  }))

let known: string | undefined

/**
 * The version and what tells apart builds of the same version.
 *
 * @category identity
 * @since 0.1.0
 */
export const buildIdentity = (): string => known ??= `${version()}+${Math.floor(newest()).toString(36)}`
