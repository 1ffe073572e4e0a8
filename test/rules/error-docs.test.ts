/** A code is a promise to callers, so each one is explained in the reference. */
import { expect, test } from 'vitest'
import { errorTable } from '../../src/domain/errors.ts'
import { readOne } from './source-tree.ts'

const unexplained = (codes: readonly string[], page: string): string[] =>
  codes.filter((code) => !page.includes(`\`${code}\``))

test('every error code is in docs/reference/errors.md', () => {
  expect(unexplained(Object.keys(errorTable), readOne('docs/reference/errors.md').text)).toEqual([])
})

test('the rule finds a code that is not explained', () => {
  expect(unexplained(['disk_full', 'timeout'], '| `timeout` | …')).toEqual(['disk_full'])
})
