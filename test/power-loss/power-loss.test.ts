import { expect, it } from 'vitest'
import { drawn } from '../support/random-selection.ts'
import { drivers, expectNothingLost, someSeed } from './expect-nothing-lost.ts'

/** A few instants for each; `npm run prove` takes many. */
it.each(drawn(drivers, () => 'drivers'))(
  'what %s acknowledged is there after the power has failed',
  { timeout: 300_000 },
  (driver) => {
    expectNothingLost(driver, 3, someSeed())
  },
)

it('is tried wherever it can be', () => {
  expect(drivers).toHaveLength(process.getuid?.() === 0 ? 3 : 0)
})
