import { createHash } from 'node:crypto'
import { isBuiltin } from 'node:module'
import { build, transform, type BuildOptions, type Metafile } from 'esbuild'
import { helpersIn, linkedModule, type Helpers } from './lazy-module.ts'

/** A program in pieces, of which the launcher puts together those that a command uses. All are ASCII. */
export interface Linked {
  readonly hash: string
  /** What stands before the modules of a program, and after them. Its value is a function that starts a module. */
  readonly program: readonly [string, string]
  /** The same for one module that is added to a program that runs. */
  readonly added: readonly [string, string]
  /** In the order of their numbers; the first is where the program begins. */
  readonly modules: readonly { readonly name: string; readonly text: string }[]
}

/**
 * Links a program so that each module starts when something of it is first used, not when a module that names it does:
 * a command uses a tenth of what it could use, and to start the rest took longer than what it does. The sources keep their
 * plain imports. Node's own modules wait as well: crypto takes 3.5 ms to load, child_process 3, tty 2.
 */
export async function linkLazily(entry: string, options: BuildOptions): Promise<Linked> {
  const { inputs } = await graphOf(entry, options)
  const own = [entry, ...Object.keys(inputs).filter((name) => isOwn(name) && name !== entry)]
  const numbers = new Map(own.map((name, number) => [name, number]))
  const numberOf = (name: string): number => {
    const number = numbers.get(name) ?? numbers.size
    numbers.set(name, number)
    return number
  }
  const sources = await modulesOf(own, options)
  const helpers: Helpers = new Map()
  const linked = own.map((name) => {
    const find = (specifier: string): number => numberOf(targetOf(name, specifier, inputs))
    return linkedModule({ name, code: sources.get(name) ?? '' }, find, helpers)
  })
  const others = [...numbers.keys()].slice(own.length)
  const texts = [...linked, ...(await Promise.all(others.map((name) => otherModule(name, options))))]
  const small = await Promise.all(texts.map((text) => asSmall(`(${text})`, options)))
  const modules = [...numbers.keys()].map((name, number) => ({ name, text: small[number] ?? '' }))
  const needed = helpersIn(linked.join('\n'), helpers)
  const program = await around(programText(needed), options)
  const added = await around(addedText(needed), options)
  return { hash: hashOf(JSON.stringify({ program, added, modules })), program, added, modules }
}

/** As the launcher reads it: a line that says how long each module is, and then the modules. */
export function programFile({ program, added, modules }: Linked): string {
  const head = { program, added, modules: modules.map(({ name, text }) => [name, text.length]) }
  return [JSON.stringify(head), ...modules.map(({ text }) => text)].join('\n')
}

const isOwn = (path: string): boolean => path.startsWith('src/')

async function graphOf(entry: string, options: BuildOptions): Promise<Metafile> {
  return (await build({ ...options, entryPoints: [entry], format: 'esm', write: false, metafile: true })).metafile
}

function targetOf(name: string, specifier: string, inputs: Metafile['inputs']): string {
  if (isBuiltin(specifier)) return specifier
  const path = inputs[name]?.imports.find(({ original }) => original === specifier)?.path
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

const programText = (helpers: string): string => `(function (require, __filename, $add) {
'use strict'
${helpers}
const $modules = { MODULES }
const $started = []
const $start = (number) => ($started[number] = ($modules[number] ?? $add(number, $started, $start, $startLater))())
const $startLater = async (number) => $started[number] || $start(number)
return $start
})`

const addedText = (helpers: string): string =>
  `(function (require, __filename, $started, $start, $startLater) {\n'use strict'\n${helpers}\nreturn MODULES\n})`

async function around(text: string, options: BuildOptions): Promise<[string, string]> {
  const [before, after] = (await asSmall(text, options)).split('MODULES')
  if (before === undefined || after === undefined) throw new Error('The frame of the program has no place for modules')
  return [before, after]
}

/** An expression without what is there for readers. */
async function asSmall(text: string, { target = 'node22' }: BuildOptions): Promise<string> {
  const { code } = await transform(text, { minifyWhitespace: true, charset: 'ascii', target })
  return code.trim().replace(/;$/, '')
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase()
