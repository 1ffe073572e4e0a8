/** Every attack, without walls and behind those of each level; what comes of it is what the table says. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { levels } from '../fixture.ts'
import { outcomeOf } from './attack.ts'
import { attacks } from './corpus.ts'
import { openTheatre, type Theatre } from './fixture.ts'

describe.each(['plain', ...levels] as const)('%s', (where) => {
  let theatre: Theatre
  beforeAll(() => {
    theatre = openTheatre(where)
  })
  afterAll(() => theatre[Symbol.asyncDispose]())

  it.each(attacks)('$name', async (attack) => {
    const [outcome, expected] = [await theatre.perform(attack), outcomeOf(attack, where)]
    expect(expected === undefined ? ['not held', 'held'] : [expected]).toContain(outcome)
  })
})
