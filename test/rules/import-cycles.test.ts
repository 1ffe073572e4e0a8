/** No module needs itself: what is imported can be read, and loaded, before whoever imports it. Types are no values. */
import { expect, test } from 'vitest'
import { cyclesIn, graphOf } from './modules.ts'
import { isTest, readFiles, type SourceFile } from './source-tree.ts'

const staticCycles = (files: readonly SourceFile[]) => cyclesIn(graphOf(files, 'static'))
const lazyCycles = (files: readonly SourceFile[]) => cyclesIn(graphOf(files, 'static', 'lazy'))

const sources = readFiles('src/**/*.ts').filter((file) => !isTest(file))

test('no static import leads back to its module', () => {
  expect([...graphOf(sources, 'static').values()].flat().length).toBeGreaterThan(2000)
  expect(staticCycles(sources)).toEqual([])
})

test('no static or dynamic import leads back to its module', () => {
  expect([...graphOf(sources, 'lazy').values()].flat().length).toBeGreaterThan(20)
  expect(lazyCycles(sources)).toEqual([])
})

const modules = (texts: Readonly<Record<string, string>>): readonly SourceFile[] =>
  Object.entries(texts).map(([name, text]) => ({ path: `src/${name}.ts`, text }))

test.each([
  [{ a: `import { b } from './b.ts'`, b: `import { a } from './a.ts'` }, 2],
  [{ a: `import { b } from './b.ts'`, b: `export * from './c/c.ts'`, 'c/c': `export { a } from '../a.ts'` }, 3],
  [{ a: `import './a.ts'` }, 1],
  [{ a: `import './b.ts'`, b: `import './c.ts'`, c: `import './b.ts'` }, 2],
])('the rule finds the cycle in %j', (texts, length) => {
  expect(staticCycles(modules(texts)).map((cycle) => cycle.length)).toEqual([length])
})

test('the rule finds each of several cycles', () => {
  const pair = (one: string, other: string) => ({ [one]: `import './${other}.ts'`, [other]: `import './${one}.ts'` })
  expect(staticCycles(modules({ ...pair('a', 'b'), ...pair('c', 'd') }))).toEqual([
    ['src/a.ts', 'src/b.ts'],
    ['src/c.ts', 'src/d.ts'],
  ])
})

test('a dynamic import closes a cycle of its own kind only', () => {
  const files = modules({ a: `import { b } from './b.ts'`, b: `const { a } = await import('./a.ts')` })
  expect(staticCycles(files)).toEqual([])
  expect(lazyCycles(files)).toEqual([['src/a.ts', 'src/b.ts']])
})

test('types and common imports are no cycle', () => {
  const files = modules({
    a: `import { b } from './b.ts'\nimport { c } from './c.ts'`,
    b: `import { c } from './c.ts'\nimport type { A } from './a.ts'`,
    c: `import { type A, type AA } from './a.ts'`,
  })
  expect(lazyCycles(files)).toEqual([])
})
