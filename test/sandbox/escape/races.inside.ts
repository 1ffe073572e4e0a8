/** The attacks that need luck, often; and those of the corpus in which time plays a part, again and again. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { levels } from '../fixture.ts'
import { type Outcome, outcomeOf } from './attack.ts'
import { attacks } from './corpus.ts'
import { races } from './races.ts'
import { openTheatre, type Theatre } from './fixture.ts'

const timed = [
  'names-race',
  'writes-frozen',
  'chain-outlives-0',
  'chain-outlives-500',
  'fork-bomb',
  'outlives-supervisor',
]
const times = Number(process.env['AW_ESCAPE_ROUNDS'] ?? 20)

describe.each(['plain', ...levels] as const)('%s', (where) => {
  let theatre: Theatre
  beforeAll(() => {
    theatre = openTheatre(where)
  })
  afterAll(() => theatre[Symbol.asyncDispose]())

  it.each(races)('$name', async (race) => {
    const wanted = outcomeOf(race, where)
    const outcome = await theatre.perform(race)
    // Where nothing is promised, luck decides.
    expect(wanted === 'not held' && where !== 'plain' ? ['held', 'not held'] : [wanted]).toContain(outcome)
  })

  it.each(attacks.filter(({ name }) => timed.includes(name)))('$name, again and again', async (attack) => {
    const wanted = outcomeOf(attack, where)
    const outcomes: Outcome[] = []
    for (let time = 0; time < (where === 'plain' ? 1 : times); time++) {
      outcomes.push(await theatre.perform({ ...attack, name: `${attack.name}-${time}` }))
    }
    expect(outcomes.filter((outcome) => outcome !== wanted)).toEqual([])
  })
})
