import { expect, it } from 'vitest'
import { drawn } from '../support/random-selection.ts'
import { onDriver, sweptDrivers } from './on-driver.ts'

/** Every few points here, from a first one that changes; all of them in `npm run prove`. */
it.each(drawn(sweptDrivers, () => 'drivers'))(
  'what is killed on $driver leaves everything whole',
  ({ driver, fileSystem }) => {
    const seed = Number(process.env['AW_SEED'] ?? Math.floor(Math.random() * 1000))
    console.log(`${driver}: AW_SEED=${seed}`)
    const { passed, failures } = onDriver(driver, fileSystem, { step: 23, seed })
    expect(failures).toEqual([])
    expect(passed).toBe(11)
  },
  900_000,
)
