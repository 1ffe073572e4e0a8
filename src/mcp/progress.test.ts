import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { limits } from './limits.ts'
import { progressReporter } from './progress.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('not all is told, but what came last is, also if nothing follows; and nothing when it is over', () => {
  const told: [number, string][] = []
  const teller = progressReporter(({ progress, message }) => told.push([progress, message]))
  const write = (text: string): void => teller.onOutput(Buffer.from(text))
  for (const text of ['first\n', 'second\n', 'third\n', '\n']) write(text)
  expect(told).toEqual([[1, 'first']])
  vi.advanceTimersByTime(limits.progressMs)
  expect(told).toEqual([
    [1, 'first'],
    [2, 'third'],
  ])
  vi.advanceTimersByTime(limits.progressMs)
  teller.onProgress({ phase: 'copying', files: 2 })
  write('too late\n')
  teller[Symbol.dispose]()
  vi.advanceTimersByTime(limits.progressMs)
  expect(told.slice(2)).toEqual([[3, 'copying, 2 files']])
})
