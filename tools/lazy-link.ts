import { createHash } from 'node:crypto'
import { isBuiltin } from 'node:module'
import { build, transform, type BuildOptions, type Metafile } from 'esbuild'
import { helpersIn, linkedModule, type Helpers } from './lazy-module.ts'

export interface LazyLink {
  readonly entry: string
  /**
   * Which modules stand in a file together: for each file those that it begins with, and all that they import. What an
   * earlier file holds is left out, and what none holds is in one more.
   */
  readonly files: readonly (readonly string[])[]
  /** Modules that name much of which little is used: what they import does not come with them. */
  readonly tables: readonly string[]
  readonly options: BuildOptions
}

export interface Linked {
  readonly hash: string
  /** Function expressions in ASCII. The first is the program; it asks for the others by their place. */
  readonly files: readonly string[]
}

/**
 * Links a program so that each module starts when something of it is first used, not when a module that names it does:
 * a command uses a fifth of what it could use, and to start the rest took longer than what it does. The sources keep their
 * plain imports. Node's own modules wait as well: crypto takes 3.5 ms to load, child_process 3, tty 2.
 */
export async function linkLazily({ entry, files, tables, options }: LazyLink): Promise<Linked> {
  const { inputs } = await graphOf(entry, options)
  const own = Object.keys(inputs).filter(isOwn)
  const starts = [...files, [entry, ...own]]
  const taken = new Set<string>()
  const split = starts.map((names) =>
    closure(names, tables, inputs).filter((name) => !taken.has(name) && taken.add(name)),
  )
  const order = split.flat()
  const sources = await modulesOf(own, options)
  const others = new Set<string>()
  const idOf = (name: string): number => {
    const id = order.indexOf(name)
    return id === -1 ? order.length + [...others.add(name)].indexOf(name) : id
  }
  const helpers: Helpers = new Map()
  const linked = new Map(
    own.map((name) => {
      const find = (specifier: string): number => idOf(targetOf(name, specifier, inputs))
      return [name, linkedModule({ name, code: sources.get(name) ?? '' }, find, helpers)] as const
    }),
  )
  const rest = await Promise.all([...others].map((name) => otherModule(name, options)))
  const parts = split.map((names) => `[\n${names.map((name) => linked.get(name)).join(',\n')}\n]`)
  const ends = split.map((_, place) => split.slice(0, place + 1).flat().length)
  const texts = parts.map((part, place) => (place === 0 ? program(part, ends, rest, idOf(entry)) : laterFile(part)))
  const small = await Promise.all(texts.map((text) => expression(text, helpers, options)))
  return { hash: hashOf(small), files: small }
}

const isOwn = (path: string): boolean => path.startsWith('src/')

async function graphOf(entry: string, options: BuildOptions): Promise<Metafile> {
  return (await build({ ...options, entryPoints: [entry], format: 'esm', write: false, metafile: true })).metafile
}

function closure(names: readonly string[], tables: readonly string[], inputs: Metafile['inputs']): string[] {
  const found = new Set<string>()
  const take = (name: string): void => {
    if (!isOwn(name) || found.has(name)) return
    found.add(name)
    if (tables.includes(name)) return
    for (const { path, kind } of importsOf(name, inputs)) if (kind === 'import-statement') take(path)
  }
  names.forEach(take)
  return [...found]
}

function importsOf(name: string, inputs: Metafile['inputs']): Metafile['inputs'][string]['imports'] {
  const input = inputs[name]
  if (input === undefined) throw new Error(`${name} is no part of the program`)
  return input.imports
}

function targetOf(name: string, specifier: string, inputs: Metafile['inputs']): string {
  if (isBuiltin(specifier)) return specifier
  const path = importsOf(name, inputs).find(({ original }) => original === specifier)?.path
  if (path === undefined) throw new Error(`${name} imports ${specifier}, and nobody knows where it is`)
  return isOwn(path) ? path : specifier
}

/** What esbuild makes of each module alone. */
async function modulesOf(names: readonly string[], options: BuildOptions): Promise<Map<string, string>> {
  const outdir = '/modules'
  const { external: _, ...others } = options
  const { outputFiles } = await build({
    ...others,
    entryPoints: [...names],
    bundle: false,
    // For Node, it would add a list of the exports that only Node's own loader reads.
    platform: 'neutral',
    format: 'cjs',
    write: false,
    outdir,
    outbase: '.',
  })
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]))
  return new Map(names.map((name) => [name, texts.get(`${outdir}/${name.replace(/\.ts$/, '.js')}`) ?? '']))
}

/** A module of Node's, or a package with all that it needs. */
async function otherModule(name: string, options: BuildOptions): Promise<string> {
  if (isBuiltin(name)) return `() => process.getBuiltinModule(${JSON.stringify(name)})`
  const stdin = { contents: `export * from ${JSON.stringify(name)}`, resolveDir: options.absWorkingDir ?? '.' }
  const { outputFiles } = await build({ ...options, stdin, format: 'cjs', write: false })
  return `() => {\nconst module = {};\n${outputFiles[0]?.text}\nreturn module.exports;\n}`
}

/** Modules have numbers, file after file; those that are not our own come last, and stand in the first file. */
const program = (part: string, ends: readonly number[], rest: readonly string[], entry: number): string =>
  `(function (require, __filename, load) {
'use strict'
/* helpers */
const $started = []
const ends = ${JSON.stringify(ends)}
const files = [${part}]
const rest = [\n${rest.join(',\n')}\n]
const $start = (id) => ($started[id] = moduleAt(id)())
const $startLater = async (id) => $started[id] || $start(id)
function moduleAt(id) {
  const place = ends.findIndex((end) => id < end)
  if (place === -1) return rest[id - ends.at(-1)]
  files[place] ??= load(place)(require, __filename, $started, $start, $startLater)
  return files[place][id - (ends[place - 1] ?? 0)]
}
$start(${entry})
})`

const laterFile = (part: string): string =>
  `(function (require, __filename, $started, $start, $startLater) {\n'use strict'\n/* helpers */\nreturn ${part}\n})`

async function expression(text: string, helpers: Helpers, options: BuildOptions): Promise<string> {
  const whole = text.replace('/* helpers */', () => helpersIn(text, helpers))
  const { target = 'node22' } = options
  const { code } = await transform(whole, { minifyWhitespace: true, charset: 'ascii', target })
  return code.trim().replace(/;$/, '')
}

const hashOf = (texts: readonly string[]): string =>
  createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 8).toUpperCase()
