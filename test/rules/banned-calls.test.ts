/**
 * Node's own realpath is written in JavaScript and walks the path step by step, so it can be raced; the system's is one
 * call. A recursive removal follows what it is given; sys/ has one that cannot leave its root.
 */
import { expect, test } from 'vitest'
import { importsOf } from './imports.ts'
import { findAll, isTest, readFiles, type SourceFile } from './source-tree.ts'

const everywhere = ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'tools/**/*.{ts,mjs,js}']

function scriptedRealpath(file: SourceFile): string[] {
  const wrong = 'realpath in JavaScript; use the native one'
  const imported = importsOf(file).filter(
    ({ specifier, names }) => specifier === 'node:fs' && names.includes('realpath'),
  )
  return [
    ...imported.map(({ line }) => `${file.path}:${line}: ${wrong}`),
    ...findAll(file, /\brealpathSync\(/g, wrong),
    ...findAll(file, /\bfs\.realpath\(/g, wrong),
  ]
}

const recursiveRemoval = (file: SourceFile): string[] =>
  findAll(file, /\b(?:rm|rmdir)(?:Sync)?\([^)]*recursive/g, 'recursive removal; use the one of sys/')

test('no realpath in JavaScript, anywhere', () => {
  const files = readFiles(...everywhere).filter(({ path }) => !path.startsWith('test/rules/'))
  expect(files.length).toBeGreaterThan(50)
  expect(files.flatMap(scriptedRealpath)).toEqual([])
})

test('no recursive removal by Node in the product', () => {
  const files = readFiles('src/**/*.ts').filter((file) => !isTest(file))
  expect(files.flatMap(recursiveRemoval)).toEqual([])
})

const inSys = (text: string): SourceFile => ({ path: 'src/sys/a.ts', text })

test.each([
  `import { realpath } from 'node:fs'`,
  `const path = realpathSync(given)`,
  `const path = fs.realpathSync(given)`,
  `fs.realpath(given, done)`,
])('the rule finds %s', (text) => {
  expect(scriptedRealpath(inSys(text))).toHaveLength(1)
})

test.each([`rmSync(path, { recursive: true })`, `await fs.rm(\n  path,\n  { force: true, recursive: true },\n)`])(
  'the rule finds %s',
  (text) => {
    expect(recursiveRemoval(inSys(text))).toHaveLength(1)
  },
)

test('the native realpath passes', () => {
  expect(scriptedRealpath(inSys(`const path = realpathSync.native(given)`))).toEqual([])
})
