import { expect, it } from 'vitest'
import { importedOf } from './fill.ts'

it('of what was left out, what may hold work is told first', () => {
  const pipes = Array.from({ length: 30 }, (_, at) => ({ path: `pipe-${at}`, reason: 'fifo' as const }))
  const skipped = [
    ...pipes,
    { path: 'locked', reason: 'unreadable' as const },
    { path: 'disk', reason: 'mount' as const },
  ]
  const { skipped: count, skipped_paths } = importedOf({ files: 0, bytes: 0, reflinked: 0, skipped })
  expect(count).toBe(32)
  expect(skipped_paths.map(({ path }) => path).slice(0, 3)).toEqual(['locked', 'disk', 'pipe-0'])
  expect(skipped_paths).toHaveLength(20)
})
