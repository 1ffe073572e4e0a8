/** Every attack, without walls and behind those of each level; what comes of it is what the table says. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRoot, levels } from '../sandbox/place.ts'
import type { Expected, Outcome } from './attack.ts'
import { attacks } from './corpus.ts'
import { openTheatre, type Theatre } from './stage.ts'

const here = (expected: Expected): Outcome =>
  typeof expected === 'string' ? expected : expected[isRoot ? 'root' : 'user']

describe.each(['plain', ...levels] as const)('%s', (where) => {
  let theatre: Theatre
  beforeAll(() => {
    theatre = openTheatre(where)
  })
  afterAll(() => theatre[Symbol.asyncDispose]())

  it.each(attacks)('$name', async (attack) => {
    const outcome = await theatre.perform(attack)
    // Without walls each must succeed; one that says why it does not may do so on another machine.
    const plainly: Outcome[] = attack.plainly === undefined ? ['not held'] : ['not held', 'held']
    expect(where === 'plain' ? plainly : [here(attack.expected[where])]).toContain(outcome)
  })
})
