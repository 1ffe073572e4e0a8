import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../aw.ts'
import type { Manager } from '../../ports/manager.ts'
import { collect } from '../../../test/support/collect.ts'

/** What counts as changed: docs/guides/snapshots.md. */

type Path = (name: string) => string

interface Case {
  readonly edit: (path: Path) => void
  /** Whether anybody is told of it. */
  readonly told: boolean
  /** Whether the head can no longer be taken for the tree. */
  readonly kept: boolean
}

const second = 1_600_000_000

const cases: Readonly<Record<string, Case>> = {
  nothing: { edit: () => undefined, told: false, kept: false },
  content: {
    edit: (path) => {
      fs.writeFileSync(path('f'), 'TWO')
      fs.utimesSync(path('f'), second, second)
    },
    told: true,
    kept: true,
  },
  'a mode': { edit: (path) => fs.chmodSync(path('f'), 0o600), told: true, kept: true },
  'the mode of a directory': { edit: (path) => fs.chmodSync(path('d'), 0o700), told: true, kept: true },
  'an attribute': { edit: (path) => setNote(path('f')), told: true, kept: true },
  'an attribute of a directory': { edit: (path) => setNote(path('d')), told: true, kept: true },
  kind: {
    edit: (path) => {
      fs.rmSync(path('f'))
      fs.symlinkSync('d', path('f'))
    },
    told: true,
    kept: true,
  },
  'the time of a file': { edit: (path) => fs.utimesSync(path('f'), 1, 1), told: false, kept: true },
  'the time of a link': { edit: (path) => fs.lutimesSync(path('l'), 1, 1), told: false, kept: true },
  'names of one file': {
    edit: (path) => {
      fs.copyFileSync(path('f'), path('copy'))
      fs.utimesSync(path('copy'), second, second)
      fs.renameSync(path('copy'), path('twin'))
    },
    told: false,
    kept: true,
  },
  'the time of a directory': { edit: (path) => fs.utimesSync(path('d'), 1, 1), told: false, kept: false },
}

const setNote = (path: string): unknown => execFileSync('setfattr', ['-n', 'user.note', '-v', 'new', path])

/** A workspace with two snapshots, and what was done to it since. */
async function changed(manager: Manager, id: string, edit: Case['edit']): Promise<string[]> {
  const { path: top } = await manager.call('create', { id })
  const path: Path = (name) => join(top, 'work', name)
  fs.mkdirSync(path('d'))
  fs.symlinkSync('nowhere', path('l'))
  const snapshots: string[] = []
  for (const content of ['one', 'two']) {
    fs.writeFileSync(path('f'), content, { mode: 0o644 })
    if (content === 'one') fs.linkSync(path('f'), path('twin'))
    fs.utimesSync(path('f'), second, second)
    snapshots.push((await manager.call('snapshot', { id })).id)
  }
  edit(path)
  return snapshots
}

it.each(Object.entries(cases))('describe, diff, undo and fork agree on %s', async (_, { edit, told, kept }) => {
  const home = fs.mkdtempSync(join(tmpdir(), 'aw-changed-'))
  onTestFinished(() => fs.rmSync(home, { recursive: true }))
  await using manager = await openManager({ home, env: { AW_STORAGE_DRIVER: 'dir' } })
  const [first, head] = await changed(manager, 'a', edit)
  expect(await manager.call('describe', { id: 'a' })).toMatchObject({ dirty: told, head: { id: head } })
  const changes = await collect(manager.stream('diff', { from: 'a@head', to: 'a' }))
  expect(changes.length > 0).toBe(told)
  const undone = await manager.call('undo', { id: 'a' })
  expect([undone.snapshot, undone.kept !== null]).toEqual([told ? head : first, kept])
  const [, last] = await changed(manager, 'b', edit)
  const { snapshot } = await manager.call('fork', { id: 'b', to: ['c'] })
  expect(snapshot !== last).toBe(kept)
})
