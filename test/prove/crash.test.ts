import { expect, it } from 'vitest'
import { operations, sweptOperation } from '../crash/operations.ts'
import { byRecover, sweep, type SweepOptions } from '../crash/sweep.ts'

/**
 * Every point of an operation, and for each of them a recovery that dies: at point 1 the first time, at point 2 the
 * second, and so on until one comes through. Each of them finds what the one before it left.
 */
const byEveryRecoverer: SweepOptions['recovery'] = async (crash, point, touch) => {
  for (let died = 1; (await crash.run('recover', {}, died)).crashed; died++) expect(died).toBeLessThan(1000)
  await byRecover(crash, point, touch)
}

it.each(Object.keys(operations))(
  '%s can be killed at every point, and its recovery at every point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byEveryRecoverer })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(5)
  },
)
