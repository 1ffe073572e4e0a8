import { expect, it } from 'vitest'
import type { Change } from '../../domain/trees/diff.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { DiffOptions, Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { differs } from './differences.ts'

const empty = { kind: 'file', size: 0, mode: 0o644 } as const
const added = (path: string): Change => ({ path, change: 'added', what: [], before: null, after: empty })

/** A tree in which these are new, of which a sandbox has put the first ones there. */
function tree(paths: readonly string[], placeholders: readonly string[]) {
  const looks: (number | undefined)[] = []
  const diff = async function* (_from: Place, _to: Place, { enough = Infinity }: DiffOptions = {}) {
    looks.push(enough === Infinity ? undefined : enough)
    for (const path of paths.slice(0, enough)) yield added(path)
  }
  const core = {
    storage: { diff },
    sandboxes: async () => ({ placeholders: async () => placeholders }),
  } as unknown as Core
  const workspace = {
    id: 'ws_1',
    source: { kind: 'empty' },
    profile: 'repo',
    sandbox: { sandbox: 'sb_1', isolation: 'namespace' },
  }
  return { looks, differs: () => differs(core, workspace as unknown as Workspace, 'snap_1') }
}

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `name-${n}`)

it('a few differences tell, however many there are', async () => {
  const { looks, ...one } = tree(names(1000), [])
  expect(await one.differs()).toBe(true)
  expect(looks).toEqual([20])
})

it('where none of them is told, all are looked at before it is said that there is none', async () => {
  const hidden = names(50)
  const [same, other] = [tree(hidden, hidden), tree([...hidden, 'work'], hidden)]
  expect([await same.differs(), await other.differs()]).toEqual([false, true])
  expect([same.looks, other.looks]).toEqual([
    [20, undefined],
    [20, undefined],
  ])
})

it('no difference is told after one look', async () => {
  const { looks, ...one } = tree([], [])
  expect(await one.differs()).toBe(false)
  expect(looks).toEqual([20])
})
