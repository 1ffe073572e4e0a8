import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkHome, checkReadModel } from '../crash/check.ts'
import { makeHome } from '../crash/home.ts'
import { workOf } from '../crash/sweep.ts'
import { patient, race, tally, users, type Call } from './race.ts'

/** What may be said to somebody who came too late. */
const late = ['workspace_not_found', 'invalid_state', 'workspace_exists', 'workspace_active', 'workspace_busy']

describe.each(users)('as $name', ({ uid }) => {
  it('destroy, undelete, reset and rename race for one workspace and nothing is lost', async () => {
    await using home = await makeHome({ uid, env: patient })
    const view = await home.manager.call('create', { id: 'one', from: { folder: home.source } })
    writeFileSync(join(view.path, 'work', 'precious'), 'kept')
    const tree = workOf(view.path)
    const { id } = view
    const round = (i: number): Call[] => [
      { operation: 'destroy', input: { id } },
      { operation: 'undelete', input: { id } },
      { operation: 'reset', input: { id } },
      { operation: 'rename', input: { id, to: `name-${i}` } },
      { operation: 'label', input: { id, labels: { turn: `${i}` } } },
    ]
    const answers = (await race(home, [0, 1, 2, 3, 4, 5].map(round))).flat()
    const counts = tally(answers)
    console.log('outcomes of the race:', counts)
    expect(Object.keys(counts).filter((code) => code !== 'ok' && !late.includes(code))).toEqual([])
    expect(counts['ok']).toBeGreaterThan(0)
    await checkHome(home.home, home.manager)
    await checkReadModel(home.manager)

    // The tree with the agent's file is the live one, the trashed one, or one that a reset replaced.
    const after = await home.manager.call('show', { id })
    const replaced = after.trash.find(({ generation }) => generation === 1)
    const back = after.state === 'trashed' ? await home.manager.call('undelete', { id }) : after
    const holder =
      after.generation === 1 ? back : await home.manager.call('undelete', { id: replaced?.tree ?? '', as: 'old' })
    expect(workOf(holder.path)).toEqual(tree)
  })

  it('one of 10 processes destroys a workspace, one brings it back, twice over', async () => {
    await using home = await makeHome({ uid, env: patient })
    const { id, path } = await home.manager.call('create', { id: 'one' })
    writeFileSync(join(path, 'work', 'precious'), 'kept')
    for (let round = 0; round < 2; round++) {
      const destroyed = (
        await race(
          home,
          Array.from({ length: 10 }, () => [{ operation: 'destroy', input: { id } }]),
        )
      ).flat()
      expect(tally(destroyed)).toEqual({ ok: 1, workspace_not_found: 9 })
      const back = (
        await race(
          home,
          Array.from({ length: 10 }, () => [{ operation: 'undelete', input: { id } }]),
        )
      ).flat()
      expect(tally(back)).toEqual({ ok: 1, invalid_state: 9 })
    }
    expect(workOf(path)).toMatchObject({ 'work/precious': { content: 'kept' } })
    await checkHome(home.home, home.manager)
  })
})
