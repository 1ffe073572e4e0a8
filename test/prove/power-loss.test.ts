import { it } from 'vitest'
import { drivers, expectNothingLost, someSeed } from '../power-loss/expect-nothing-lost.ts'

const rounds = Number(process.env['AW_ROUNDS'] ?? 10)

it.each(drivers)(`the power fails ten times under each of ${rounds} loads on %s`, (driver) => {
  const seed = someSeed()
  for (let round = 0; round < rounds; round++) expectNothingLost(driver, 10, seed + round)
})
