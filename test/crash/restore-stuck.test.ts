import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeHome, type CrashHome } from './home.ts'

const id = 'a'
const names = ['f1', 'f2', 'f3', 'f4']

/** A home whose workspace was being restored to `one` by a process that died with half of it done. */
async function halfRestored(): Promise<CrashHome & { one: string; content: (name: string) => string }> {
  const crash = await makeHome({ env: { AW_STORAGE_DRIVER: 'dir' } })
  const { manager } = crash
  const { path } = await manager.call('create', { id })
  let one = ''
  for (const label of ['one', 'two']) {
    for (const name of names) await manager.call('fs write', { id, path: `work/${name}`, content: label })
    const snapshot = await manager.call('snapshot', { id, label })
    one ||= snapshot.id
  }
  const content = (name: string): string => readFileSync(join(path, 'work', name), 'utf8')
  for (let point = 20; new Set(names.map(content)).size === 1; point += 1) {
    await manager.call('recover', {})
    await manager.call('restore', { id, snapshot: 'two' })
    const { crashed } = await crash.run('restore', { id, snapshot: 'one' }, point)
    expect(crashed).toBe(true)
  }
  return { ...crash, one, content }
}

it.each(['recover', 'destroy'])(
  '%s ends a restore whose snapshot is gone since: the tree is what it was',
  async (operation) => {
    await using crash = await halfRestored()
    rmSync(join(crash.home, 'storage/snapshots', crash.one))
    const answer = await crash.tell(operation, operation === 'destroy' ? { id } : {})
    expect(answer.error).toBeUndefined()
    const [workspace] = await crash.manager.call('list', { all: true })
    expect(workspace).toMatchObject({ operation: null, state: operation === 'destroy' ? 'trashed' : 'ready' })
    if (operation === 'destroy') return
    expect(workspace?.problem).toMatchObject({ code: 'snapshot_not_found' })
    expect(names.map(crash.content)).toEqual(names.map(() => 'two'))
    expect(readdirSync(join(crash.home, 'storage/incoming'))).toEqual([])
  },
  120_000,
)
