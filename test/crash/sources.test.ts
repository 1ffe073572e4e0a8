import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecover, sweep } from './sweep.ts'

/** As in `build.test.ts`, for where workspaces come from and what is kept beside them. All points: `npm run prove`. */
const step = 6
const seed = Math.floor(Math.random() * step)
console.log(`from point ${1 + seed}, every ${step}th`)

it.each([
  'create from git',
  'create from an archive',
  'export',
  'template create',
  'template update',
  'shared create',
  'shared remove',
  'shared undelete',
])(
  '%s can be killed at every point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecover, from: 1 + seed, step })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThanOrEqual(1 + seed)
  },
  600_000,
)
