import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sweep } from './sweep.ts'

/** Neither a workspace nor its archive is ever half: it is in one place whole, or in the next. */
it.each(['ttl', 'gc of what expired'])(
  '%s can be killed at every point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(2)
  },
  600_000,
)

it('gc into an archive can be killed wherever it is', async () => {
  // Packing has many points: one in three here, from a first one that changes.
  const seed = Number(process.env['AW_SEED'] ?? Math.floor(Math.random() * 1000))
  console.log(`AW_SEED=${seed}`)
  const name = 'gc into an archive'
  const options = { recovery: byRecoverOrTouch, from: 1 + (seed % 3), step: 3 }
  expect(await sweep(name, sweptOperation(name), options)).toBeGreaterThan(30)
}, 600_000)
