import { expect, test } from 'vitest'
import type { Outputs } from '../../api/table.ts'
import { exitCodeOfRun } from './exit-code.ts'

const failed = { state: 'failed', started_at: '2030-01-01T00:00:00.000Z' } as const
const ended = (code: string, exit: Outputs['wait']['exit'] = null): number =>
  exitCodeOfRun({ ...failed, exit, problem: { code, message: '' } } as Outputs['wait'])

test.each([
  ['file_not_found', 127],
  ['permission_denied', 126],
  ['sandbox_unenforceable', 125],
])('a run that could not be started, for %s, ends as a command of aw exec does', (code, expected) => {
  expect(ended(code)).toBe(expected)
})

test.each(['file_not_found', 'permission_denied'])(
  'one that failed before it began, for %s, has no code of a program',
  (code) => {
    const view = { ...failed, started_at: null, exit: null, problem: { code, message: '' } } as Outputs['wait']
    expect(exitCodeOfRun(view)).toBe(125)
  },
)

test('one that was stopped because its workspace passed its size limit ends as aw exec does', () => {
  expect(ended('quota_exceeded', { code: null, signal: 'SIGKILL', over_limit: true, duration_ms: 1 })).toBe(125)
})

test('one that ran has the code of what ran', () => {
  expect(ended('exit', { code: 7, signal: null, timed_out: false, output_cut: false, duration_ms: 1 })).toBe(7)
})
