import { expect, it } from 'vitest'
import { drawn } from '../support/drawn.ts'
import { drivers, expectNothingLost, someSeed } from './fails.ts'

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
