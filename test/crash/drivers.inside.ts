import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sweep } from './sweep.ts'

/** On a file system of its own, with the driver that the environment names. */

const step = Number(process.env['AW_STEP'] ?? 1)

it.each([
  'create',
  'snapshot',
  'restore',
  'restore of paths',
  'undo of a snapshot',
  'fork',
  'snapshot remove',
  'create from git',
  'template update',
  'exec that is kept',
  'undo of a command',
])(
  '%s can be killed at every point',
  async (operation) => {
    // Another first point each time, so that all of them have their turn.
    const from = 1 + (Number(process.env['AW_SEED'] ?? 0) % Math.min(step, 5))
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch, from, step })
    // The last point that was tried; with large steps it may be the first.
    expect(points).toBeGreaterThanOrEqual(step === 1 ? 6 : from)
  },
  900_000,
)
