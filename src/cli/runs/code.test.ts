import { expect, test } from 'vitest'
import type { Outputs } from '../../api/table.ts'
import { codeOfRun } from './code.ts'

const ended = (code: string, exit: Outputs['wait']['exit'] = null): number =>
  codeOfRun({ state: 'failed', exit, problem: { code, message: '' } } as Outputs['wait'])

test.each([
  ['file_not_found', 127],
  ['permission_denied', 126],
  ['sandbox_unenforceable', 125],
])('a run that could not be started, for %s, ends as a command of aw exec does', (code, expected) => {
  expect(ended(code)).toBe(expected)
})

test('one that ran has the code of what ran', () => {
  expect(ended('exit', { code: 7, signal: null, timed_out: false, output_cut: false, duration_ms: 1 })).toBe(7)
})
