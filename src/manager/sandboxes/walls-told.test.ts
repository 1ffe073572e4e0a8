import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openManager } from '../../aw.ts'
import type { Manager } from '../../ports/manager.ts'
import { collect } from '../../../test/support/collect.ts'
import { endBoxes } from '../../../test/support/end-boxes.ts'
import { eventsOf, ran } from '../../../test/contracts/manager/commands.ts'

/** A name that should be read-only and cannot be kept so: whoever runs something there has to hear of it. */

let base: string
let manager: Manager
beforeEach(async () => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-told-'))
  fs.mkdirSync(join(base, 'project', 'elsewhere', 'hooks'), { recursive: true })
  fs.symlinkSync('elsewhere', join(base, 'project', '.git'))
  manager = await openManager({ home: join(base, 'home'), env: {} })
})
afterEach(async () => {
  await manager[Symbol.asyncDispose]()
  await endBoxes(join(base, 'home'))
  fs.rmSync(base, { recursive: true, force: true })
})

const folder = (): string => join(base, 'project')
const told = expect.arrayContaining([
  expect.stringMatching(/work\/\.git\/hooks is not kept read-only: work\/\.git is a link$/),
]) as unknown

it('by a command, by the sandbox that is started, and by a run, each also in the log', async () => {
  await manager.call('create', { id: 'x', from: { folder: folder() } })
  expect((await ran(manager, { id: 'x', argv: ['true'] })).items[0]).toMatchObject({ type: 'started', notes: told })
  const run = await collect(manager.stream('run', { id: 'x', argv: ['true'] }))
  expect(run[0]).toMatchObject({ type: 'started', notes: told })
  expect(await manager.call('start', { id: 'x' })).toMatchObject({ sandbox: { notes: told } })
  expect(await manager.call('show', { id: 'x' })).toMatchObject({ sandbox: { notes: told } })
  expect((await ran(manager, { id: 'x', argv: ['true'] })).items[0]).toMatchObject({ notes: told })
  const events = await eventsOf(manager, 'x')
  const dataOf = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data)
  expect(dataOf('command_started')[0]).toMatchObject({ own_sandbox: true, walls: { notes: told } })
  for (const data of dataOf('sandbox_launched')) expect(data).toMatchObject({ notes: told })
})

it('by the log of a set-up, also of one that fails', async () => {
  const from = { folder: folder() }
  await manager.call('template create', { name: 'page', from, setup: ['true'] })
  expect(await manager.call('template log', { name: 'page' })).toMatchObject({ problem: null, notes: told })
  await expect(manager.call('template update', { name: 'page', setup: ['false'] })).rejects.toThrow('failed')
  expect(await manager.call('template log', { name: 'page' })).toMatchObject({
    problem: { code: 'setup_failed' },
    notes: told,
  })
})
