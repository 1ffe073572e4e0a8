/** The use case of an operation is where its name says: `aw fork` is src/manager/…/fork.ts. */
import { basename } from 'node:path/posix'
import { expect, test } from 'vitest'
import { operations } from '../../src/api/table.ts'
import { importsOf } from './imports.ts'
import { targetOf } from './modules.ts'
import { isTest, readFiles, readOne, type SourceFile } from './source-tree.ts'

interface UseCase {
  readonly operation: string
  /** The module that manager.ts imports it from, and what it is called there. */
  readonly path: string
  readonly name: string
}

/** For `token create` a file of its own, or one that the group shares: token-create.ts, token.ts. */
function fileNames(operation: string): string[] {
  const [group = operation] = operation.split(' ')
  return [...new Set([operation.replaceAll(' ', '-'), group])].map((name) => `${name}.ts`)
}

/** What the tables of manager.ts say. */
function useCasesIn(manager: SourceFile): UseCase[] {
  const imported = importedNames(manager)
  const tables = [...manager.text.matchAll(/^const (?:useCases|streams): \w+ = \{([^}]*)\}/gm)]
  const entries = tables.flatMap(([, table = '']) => [...table.matchAll(/(?:'([^']+)'|(\w+))(?:: ([\w.]+))?,?\s/g)])
  return entries.map(([, quoted, plain = '', value = plain]) => {
    const [local = '', member] = value.split('.')
    const found = imported.get(local)
    return { operation: quoted ?? plain, path: found?.path ?? '', name: member ?? found?.name ?? '' }
  })
}

/** By the name that a module has for it: where it comes from, and what it is called there. */
function importedNames(file: SourceFile): ReadonlyMap<string, { readonly path: string; readonly name: string }> {
  const names = importsOf(file).flatMap((wanted) =>
    wanted.names.map((written) => {
      const [name = '', local = name] = written.split(' as ')
      return [local, { path: targetOf(file, wanted.specifier), name }] as const
    }),
  )
  return new Map(names)
}

function misplaced(manager: SourceFile, modules: readonly SourceFile[], names: readonly string[]): string[] {
  const useCases = useCasesIn(manager)
  const used = new Set(useCases.map(({ path }) => path))
  const taken = new Set(names.flatMap(fileNames))
  return [
    ...names.flatMap((operation) => {
      const useCase = useCases.find((one) => one.operation === operation)
      return useCase === undefined ? [`${operation}: manager.ts has no use case for it`] : wrongPlace(useCase, modules)
    }),
    ...modules.flatMap(({ path }) =>
      taken.has(basename(path)) && !used.has(path) ? [`${path}: named after an operation, and holds none`] : [],
    ),
  ]
}

function wrongPlace({ operation, path, name }: UseCase, modules: readonly SourceFile[]): string[] {
  const expected = fileNames(operation)
  if (!expected.includes(basename(path))) return [`${operation}: in ${path}, not in ${expected.join(' or ')}`]
  const text = modules.find((module) => module.path === path)?.text ?? ''
  const isThere = new RegExp(String.raw`^export (?:async )?(?:function\*?|const) ${name}\b`, 'm').test(text)
  return isThere ? [] : [`${operation}: ${path} does not hold ${name} itself`]
}

test('every operation has its use case in a file of its name', () => {
  const manager = readOne('src/manager/manager.ts')
  const modules = readFiles('src/manager/**/*.ts').filter((file) => !isTest(file))
  const names = operations.map(({ name }) => name)
  expect(names.length).toBeGreaterThan(80)
  expect(useCasesIn(manager)).toHaveLength(names.length)
  expect(misplaced(manager, modules, names)).toEqual([])
})

const managerWith = (imports: string, table: string): SourceFile => ({
  path: 'src/manager/manager.ts',
  text: `${imports}\n\nconst useCases: UseCases = {\n${table}\n}\n\nconst streams: Streams = { diff }\n`,
})
const fork = 'src/manager/a/fork.ts'
const diffModule = { path: 'src/manager/a/diff.ts', text: 'export async function* diff() {}' }
const importDiff = `import { diff } from './a/diff.ts'`

test('a use case may be called anything, be taken from a whole module, and share the file of its group', () => {
  const text = `import { run as fork } from './a/fork.ts'\nimport * as token from './a/token.ts'\n${importDiff}`
  const table = `  fork,\n  'token create': token.make,\n  'token list': token.list,`
  const modules = [
    { path: fork, text: 'export async function run() {}' },
    { path: 'src/manager/a/token.ts', text: 'export const make = () => 1\nexport function list() {}' },
    { path: 'src/manager/a/token-book.ts', text: '' },
    diffModule,
  ]
  expect(misplaced(managerWith(text, table), modules, ['fork', 'token create', 'token list', 'diff'])).toEqual([])
})

test.each([
  ['a file of another name', `import { fork } from './a/forks.ts'`, 'fork', 'src/manager/a/forks.ts', 'fork'],
  ['another group', `import { fork } from './a/tree.ts'`, `'fork tree': fork`, 'src/manager/a/tree.ts', 'fork tree'],
  ['no line in the table', `import { fork } from './a/fork.ts'`, 'run: fork', fork, 'fork'],
  ['a file that only passes it on', `import { spoon } from './a/fork.ts'`, 'fork: spoon', fork, 'fork'],
])('the rule finds %s', (_, imports, entry, path, operation) => {
  const modules = [{ path, text: `export function fork() {}\nexport { spoon } from './b.ts'` }, diffModule]
  const found = misplaced(managerWith(`${imports}\n${importDiff}`, `  ${entry},`), modules, [operation, 'diff'])
  expect(found).toEqual([expect.stringContaining(`${operation}: `)])
})

test('the rule finds a helper with the name of an operation', () => {
  const modules = [diffModule, { path: 'src/manager/b/diff.ts', text: 'export function helper() {}' }]
  expect(misplaced(managerWith(importDiff, ''), modules, ['diff'])).toEqual([
    expect.stringContaining('src/manager/b/diff.ts'),
  ])
})
