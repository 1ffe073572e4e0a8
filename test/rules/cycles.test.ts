/** Modules of the doors never lead back to themselves, not even by what they load when it is called for. */
import { dirname, join } from 'node:path/posix'
import { expect, test } from 'vitest'
import { importsOf, type Import } from './imports.ts'
import { isTest, readFiles, type SourceFile } from './source-tree.ts'

const held = ['access', 'api', 'aw.ts', 'cli', 'client', 'daemon', 'http', 'index.ts', 'init.ts', 'mcp', 'ports']

type Graph = ReadonlyMap<string, readonly string[]>

/** `typeof import('…')` counts where a module is loaded by a path that is put together, as `cli/part.ts` does. */
const isLoaded = ({ text }: SourceFile, { kind, names }: Import): boolean =>
  kind !== 'type' || (names.length === 0 && text.includes('createRequire('))

const graphOf = (files: readonly SourceFile[]): Graph =>
  new Map(
    files.map((file) => [
      file.path,
      importsOf(file)
        .filter((one) => one.specifier.startsWith('.') && isLoaded(file, one))
        .map(({ specifier }) => join(dirname(file.path), specifier)),
    ]),
  )

/** The shortest way from a module back to itself; undefined if there is none. */
function wayBack(start: string, graph: Graph): string | undefined {
  const ways = new Map<string, readonly string[]>([[start, [start]]])
  for (const [path, way] of ways) {
    for (const next of graph.get(path) ?? []) {
      if (next === start) return [...way, start].join(' -> ')
      if (!ways.has(next)) ways.set(next, [...way, next])
    }
  }
  return undefined
}

const cyclesIn = (files: readonly SourceFile[]): string[] => {
  const graph = graphOf(files)
  return files
    .filter(({ path }) => held.includes(path.split('/')[1] ?? ''))
    .flatMap(({ path }) => wayBack(path, graph) ?? [])
}

const sources = readFiles('src/**/*.ts').filter((file) => !isTest(file))

test('no module of a door leads back to itself', () => {
  expect(cyclesIn(sources)).toEqual([])
})

const b: SourceFile = { path: 'src/daemon/b.ts', text: `import { a } from '../cli/a.ts'` }

test.each([
  [`import { b } from '../daemon/b.ts'`],
  [`const { b } = await import('../daemon/b.ts')`],
  [`type B = typeof import('../daemon/b.ts')\nconst b = createRequire(import.meta.url)(place) as B`],
])('the rule finds a way back by: %s', (text) => {
  expect(cyclesIn([{ path: 'src/cli/a.ts', text }, b])).toEqual([
    'src/cli/a.ts -> src/daemon/b.ts -> src/cli/a.ts',
    'src/daemon/b.ts -> src/cli/a.ts -> src/daemon/b.ts',
  ])
})

test('types may refer to each other', () => {
  expect(cyclesIn([{ path: 'src/cli/a.ts', text: `import type { B } from '../daemon/b.ts'` }, b])).toEqual([])
})
