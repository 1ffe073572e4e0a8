/** The package holds what users run and nothing else: what only tests need is in test/. */
import { expect, test } from 'vitest'
import { importsOf } from './imports.ts'
import { graphOf, reachedFrom, targetOf } from './modules.ts'
import { isTest, readFiles, type SourceFile } from './source-tree.ts'

/** As tools/build.ts has them. */
const entries = [
  'src/cli/main.ts',
  'src/index.ts',
  'src/mcp/main.ts',
  'src/daemon/main.ts',
  'src/client/main.ts',
  'src/drivers/sandbox/proxy/main.ts',
]

const testTools = ['vitest', 'fast-check']

/** Modules that no program of the package imports, not even for a type. */
function unreached(files: readonly SourceFile[], from: readonly string[] = entries): string[] {
  const reached = reachedFrom(graphOf(files, 'static', 'lazy', 'type'), from)
  return files.flatMap(({ path }) => (reached.has(path) ? [] : [`${path}: nothing but tests can use this`]))
}

function testImports(file: SourceFile): string[] {
  return importsOf(file).flatMap(({ line, specifier }) => {
    const target = targetOf(file, specifier)
    const isTool = testTools.some((tool) => target === tool || target.startsWith(`${tool}/`))
    const wrong = isTool || target.startsWith('test/') || target.endsWith('.test.ts')
    return wrong ? [`${file.path}:${line}: ${specifier} is for tests`] : []
  })
}

const sources = readFiles('src/**/*.ts').filter((file) => !isTest(file))

test('every module is part of a program of the package', () => {
  const paths = sources.map(({ path }) => path)
  expect(paths).toEqual(expect.arrayContaining(entries))
  expect(unreached(sources)).toEqual([])
})

test('no module imports what is for tests', () => {
  expect(sources.flatMap(testImports)).toEqual([])
})

test('the rule finds a module that nothing imports, or only another such one', () => {
  const files = [
    { path: 'src/index.ts', text: `import type { A } from './a.ts'` },
    { path: 'src/a.ts', text: `const b = await import('./b.ts')` },
    { path: 'src/b.ts', text: '' },
    { path: 'src/c.ts', text: `import { a } from './a.ts'\nimport { d } from './d.ts'` },
    { path: 'src/d.ts', text: '' },
  ]
  expect(unreached(files, ['src/index.ts'])).toEqual([
    expect.stringMatching(/^src\/c\.ts:/),
    expect.stringMatching(/^src\/d\.ts:/),
  ])
})

test.each([
  `import { expect } from 'vitest'`,
  `import { defineConfig } from 'vitest/config'`,
  `import type { Arbitrary } from 'fast-check'`,
  `import { scene } from '../../test/support/scene.ts'`,
  `const { suite } = await import('../../test/contracts/storage.ts')`,
  `import { helper } from './b.test.ts'`,
])('the rule finds %s', (text) => {
  expect(testImports({ path: 'src/manager/a.ts', text })).toHaveLength(1)
})

test('the rule lets pass what only sounds like it', () => {
  const text = `import { agentsTest } from './agents-test.ts'\nimport { a } from './test/a.ts'`
  expect(testImports({ path: 'src/manager/a.ts', text })).toEqual([])
})
