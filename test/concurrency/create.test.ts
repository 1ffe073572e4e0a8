import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkHome, checkReadModel } from '../crash/check.ts'
import { makeHome } from '../crash/home.ts'
import { patient, race, tally, users } from './race.ts'

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

describe.each(users)('as $name', ({ uid }) => {
  it('100 creates from 10 processes are 100 workspaces', async () => {
    await using home = await makeHome({ uid, env: patient })
    const calls = times(10, (p) => times(10, (i) => ({ operation: 'create', input: { id: `task-${i}/agent-${p}` } })))
    expect(tally((await race(home, calls)).flat())).toEqual({ ok: 100 })
    await checkHome(home.home, home.manager)
    await checkReadModel(home.manager)
    expect(await home.manager.call('list', {})).toHaveLength(100)
    expect(locksIn(home.home)).toHaveLength(100)
  })

  it('one of 20 processes gets a name, and its tree; nothing of the others is left', async () => {
    await using home = await makeHome({ uid, env: patient })
    const calls = times(20, (i) => [{ operation: 'create', input: { id: 'one', labels: { by: `${i}` } } }])
    const answers = (await race(home, calls)).flat()
    expect(tally(answers)).toEqual({ ok: 1, workspace_exists: 19 })
    const winner = answers.find(({ result }) => result !== undefined)?.result
    expect(await home.manager.call('show', { id: 'one' })).toMatchObject({
      id: winner?.['id'],
      labels: winner?.['labels'],
    })
    await checkHome(home.home, home.manager)
    expect(locksIn(home.home)).toEqual([`${String(winner?.['id'])}.lock`])
  })

  it('ensure of one name from 20 processes answers one workspace to all', async () => {
    await using home = await makeHome({ uid, env: patient })
    const answers = (
      await race(
        home,
        times(20, () => [{ operation: 'ensure', input: { id: 'one' } }]),
      )
    ).flat()
    expect(tally(answers)).toEqual({ ok: 20 })
    expect(new Set(answers.map(({ result }) => result?.['id'])).size).toBe(1)
    await checkHome(home.home, home.manager)
  })

  it('with max_workspaces = 20, 40 processes get exactly 20 places', async () => {
    await using home = await makeHome({ uid, env: { ...patient, AW_WORKSPACES_MAX_WORKSPACES: '20' } })
    const answers = (
      await race(
        home,
        times(40, (i) => [{ operation: 'create', input: { id: `task-${i}` } }]),
      )
    ).flat()
    expect(tally(answers)).toEqual({ ok: 20, limit_reached: 20 })
    await checkHome(home.home, home.manager)
    expect(await home.manager.call('list', {})).toHaveLength(20)
    expect(locksIn(home.home)).toHaveLength(20)
  })

  it('with a budget for 7, 20 processes get exactly 7, and nothing of the others is left', async () => {
    const limits = { AW_SPACE_BUDGET_MB: '75', AW_WORKSPACES_MAX_SIZE_MB: '10' }
    await using home = await makeHome({ uid, env: { ...patient, ...limits } })
    const answers = (
      await race(
        home,
        times(20, (i) => [{ operation: 'create', input: { id: `task-${i}` } }]),
      )
    ).flat()
    expect(tally(answers)).toEqual({ ok: 7, limit_reached: 13 })
    await checkHome(home.home, home.manager)
    expect(await home.manager.call('list', {})).toHaveLength(7)
    expect(locksIn(home.home)).toHaveLength(7)
  })
})

/** Of workspaces; the one for setting up the storage stays. */
const locksIn = (home: string): string[] => readdirSync(join(home, 'locks')).filter((name) => name.startsWith('ws_'))
