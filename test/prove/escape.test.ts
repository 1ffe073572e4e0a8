import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeTools, runAttacks, type Tools } from '../sandbox/escape/contained-run.ts'

let tools: Tools
beforeAll(() => {
  tools = makeTools()
})
afterAll(() => tools[Symbol.dispose]())

const rounds = process.env['AW_ESCAPE_ROUNDS'] ?? '50'

it.each(['root', 'an ordinary user'] as const)('races against the walls, %s', (as) => {
  const { passed, failures } = runAttacks({ tools, as, file: 'races', env: { AW_ESCAPE_ROUNDS: rounds } })
  expect(failures).toEqual([])
  expect(passed).toBe(4 * 8)
})
