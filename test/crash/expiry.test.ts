import { it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { expectSurvives } from './sweep.ts'

/** Neither a workspace nor its archive is ever half: it is in one place whole, or in the next. */
it.each([
  ['ttl', 2, 2],
  ['gc of what expired', 4, 5],
  // Packing has many points.
  ['gc into an archive', 9, 30],
] as const)(
  '%s can be killed at any point',
  async (operation, every, least) => {
    await expectSurvives(operation, sweptOperation(operation), { every, least })
  },
  600_000,
)
