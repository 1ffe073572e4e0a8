import { expect, test } from 'vitest'
import { closingLine, countTests, isGood, type VitestReport } from '../../tools/test-counts.ts'

const report = (more: Partial<VitestReport>): VitestReport => ({
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [],
  ...more,
})

test('the counts of a good run', () => {
  const counts = countTests(report({}), 0)
  expect(closingLine(counts)).toBe('5 passed, 0 failed')
  expect(isGood(counts, true)).toBe(true)
})

test('a failed test', () => {
  const testResults = [{ status: 'failed', assertionResults: [{ status: 'failed' }] }]
  expect(closingLine(countTests(report({ numFailedTests: 1, testResults }), 1))).toBe('5 passed, 1 failed')
})

test('a file that could not be loaded counts as a failure', () => {
  const testResults = [{ status: 'failed', assertionResults: [] }]
  expect(closingLine(countTests(report({ testResults }), 1))).toBe('5 passed, 1 failed')
})

test('so do an error outside the tests and a run that left no report', () => {
  expect(closingLine(countTests(report({}), 1))).toBe('5 passed, 1 failed')
  expect(closingLine(countTests(undefined, null))).toBe('0 passed, 1 failed')
})

test('a skipped test fails a run of everything', () => {
  const counts = countTests(report({ numPendingTests: 1, numTodoTests: 1 }), 0)
  expect(closingLine(counts)).toBe('5 passed, 0 failed, 2 skipped')
  expect(isGood(counts, true)).toBe(false)
  expect(isGood(counts, false)).toBe(true)
})
