import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecover, sampled, sweep } from './sweep.ts'

/** As in `build.test.ts`, for where workspaces come from and what is kept beside them. All points: `npm run prove`. */
it.each([
  'create from git',
  'create from an archive',
  'export',
  'template create',
  'template update',
  'template create with a set-up',
  'template update with a set-up',
  'shared create',
  'shared remove',
  'shared undelete',
])(
  '%s can be killed at any point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecover, ...sampled(25) })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(0)
  },
  600_000,
)

it.each(['export branch', 'export patch', 'export bundle'])(
  '%s can be killed at any point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecover, ...sampled(60) })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(60)
  },
  600_000,
)
