import { expect, it } from 'vitest'
import { onDriver, sweptDrivers } from '../crash/on-driver.ts'

it.each(sweptDrivers)('every point of every operation on $driver', ({ driver, fileSystem }) => {
  const { passed, failures } = onDriver(driver, fileSystem, { step: 1, seed: 0 })
  expect(failures).toEqual([])
  expect(passed).toBe(11)
})
