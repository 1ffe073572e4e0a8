import { expect, it } from 'vitest'
import { drawn, twoDrivers } from '../../support/random-selection.ts'
import { expectScales, grounds } from './file-systems.ts'

/** `npm run prove` does the same with much more. */
it.each(drawn(grounds, twoDrivers))(
  '$driver holds many snapshots and forks, as $as',
  { timeout: 600_000 },
  (ground) => {
    expectScales(ground, { snapshots: 60, depth: 20, forks: 12, processes: 2 })
  },
)

it('is tried wherever it can be', () => {
  expect(grounds).toHaveLength(process.getuid?.() === 0 ? 5 : 0)
})
