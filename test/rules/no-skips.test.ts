/** Nothing is skipped silently: a test runs, or it is not there. */
import { expect, test } from 'vitest'
import { findAll, readFiles, type SourceFile } from './source-tree.ts'

const marks = (file: SourceFile): string[] =>
  findAll(file, /\.(?:skip|only|todo|fails|skipIf|runIf)\b\s*[(.`]/g, 'every test runs, always')

test('no test is marked to be left out', () => {
  const tests = readFiles('src/**/*.test.ts', 'test/**/*.ts')
  expect(tests.filter(({ path }) => path !== 'test/rules/no-skips.test.ts').flatMap(marks)).toEqual([])
})

test.each([
  `it.skip('a', b)`,
  `describe.only('a', b)`,
  `test.todo('a')`,
  `context.skip('why')`,
  `it.skipIf(a)('b', c)`,
])('the rule finds %s', (text) => {
  expect(marks({ path: 'src/a.test.ts', text })).toHaveLength(1)
})
