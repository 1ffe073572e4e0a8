import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import type { NewEvent } from '../../../domain/log/event.ts'
import { eventStoreContract } from '../../../../test/contracts/event-store.ts'
import { makeIds, perform, steps } from '../../../../test/contracts/event-store/properties.ts'
import { makeLogHome, type LogHome } from '../../../../test/support/log-home.ts'
import { memoryEvents } from '../../../../test/memory/events.ts'
import { ofRunSql } from './read-model.ts'
import { sqliteEvents } from './sqlite.ts'

const homes: LogHome[] = []
const newHome = (): LogHome => {
  const home = makeLogHome()
  homes.push(home)
  return home
}

afterEach(() => {
  for (const home of homes.splice(0)) home.remove()
})

eventStoreContract('sqlite', () => sqliteEvents(newHome()))

it('finds a run without a look at the whole log', async () => {
  const home = newHome()
  await using _ = await sqliteEvents(home)
  using database = new DatabaseSync(home.file, { readOnly: true })
  const steps = database
    .prepare(`EXPLAIN QUERY PLAN ${ofRunSql}`)
    .all('run_x')
    .map(({ detail }) => String(detail))
  expect(steps[0]).toMatch(/^SEARCH e USING INDEX requested_runs /)
  expect(steps[1]).toMatch(/^SEARCH w USING (COVERING )?INDEX /)
})

it('answers as the store in memory does', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (todo) => {
      const home = newHome()
      await using store = await sqliteEvents(home)
      const oracle = memoryEvents()
      const ids = makeIds()
      const remember = new Map<number, NewEvent>()
      const expected = await perform(oracle, todo, ids, remember)
      expect(await perform(store, todo, ids, remember)).toEqual(expected)
      expect(await store.list()).toEqual(await oracle.list())
    }),
    { numRuns: 50 },
  )
})
