import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecover, sweep } from './sweep.ts'

/** As in `build.test.ts`, for where workspaces come from and what is kept beside them. */
it.each([
  'create from git',
  'create from an archive',
  'export',
  'template create',
  'template update',
  'shared create',
  'shared remove',
])(
  '%s can be killed at every point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecover })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(5)
  },
  600_000,
)
