import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../aw.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { Manager } from '../../ports/manager.ts'
import { memoryCore } from '../../../test/memory/core.ts'

async function withFork(): Promise<{ manager: Manager; file: string }> {
  const home = mkdtempSync(join(tmpdir(), 'aw-fork-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const manager = await openManager({ home, env: {}, set: { 'storage.driver': 'dir' } })
  onTestFinished(() => manager[Symbol.asyncDispose]())
  await manager.call('create', { id: 'a' })
  await manager.call('fs write', { id: 'a', path: 'work/f', content: 'one' })
  const { snapshot } = await manager.call('fork', { id: 'a', to: ['b'] })
  return { manager, file: join(home, 'storage/snapshots', snapshot) }
}

describe('a fork whose base cannot be read any more', () => {
  it.each([
    ['is gone', (file: string) => rmSync(file)],
    ['is damaged', (file: string) => writeFileSync(file, 'wrong')],
  ])('because it %s is kept, forked and written to all the same', async (_, spoil) => {
    const { manager, file } = await withFork()
    spoil(file)
    await manager.call('recover', {})
    const id = 'b'
    expect(await manager.call('describe', { id })).toMatchObject({ dirty: true })
    await manager.call('fs write', { id, path: 'work/f', content: 'two' })
    const { forks } = await manager.call('fork', { id, to: ['c'] })
    expect(forks).toMatchObject([{ ok: true }])
    const { id: kept } = await manager.call('snapshot', { id })
    await manager.call('fs write', { id, path: 'work/f', content: 'three' })
    expect(await manager.call('undo', { id })).toMatchObject({ snapshot: kept, changes: ['work/f'] })
    const hint = expect.stringContaining('aw ') as string
    expect(await manager.call('export', { of: `${id}@base`, patch: true }).catch(toAwError)).toMatchObject({ hint })
  })
})

describe('what a snapshot was taken for, and did not come about', () => {
  const id = 'a'
  const standing = async (manager: Manager): Promise<unknown> => {
    const { head, dirty } = await manager.call('describe', { id })
    return { head: head?.id, dirty, snapshots: (await manager.call('snapshots', { id })).map((one) => one.id) }
  }
  const changed = async (manager: Manager): Promise<unknown> => {
    await manager.call('create', { id, config: { max_size_mb: 10 } })
    await manager.call('snapshot', { id })
    await manager.call('fs write', { id, path: 'work/f', content: 'one' })
    return standing(manager)
  }

  it.each([
    ['workspaces.max_workspaces', '1', 'Destroy one, or raise workspaces.max_workspaces'],
    [
      'space.budget_mb',
      '15',
      'Ask for 5 MB at the most (a fork has the limit of its source: aw limit a/main MB), destroy one, or raise space.budget_mb',
    ],
  ])('a fork beyond %s leaves the source as it was', async (key, value, hint) => {
    const { manager } = memoryCore({ set: { [key]: value } })
    const before = await changed(manager)
    expect(await manager.call('fork', { id, to: ['b'] }).catch(toAwError)).toMatchObject({
      code: 'limit_reached',
      hint,
    })
    expect(await standing(manager)).toEqual(before)
    const { forks } = await manager.call('fork', { id, to: ['b', 'c'] })
    expect(forks).toMatchObject([{ ok: false }, { ok: false }])
    expect(await standing(manager)).toEqual(before)
  })

  it('stays if one of several forks began as it', async () => {
    const { manager } = memoryCore({ set: { 'workspaces.max_workspaces': '2' } })
    await changed(manager)
    const { snapshot, forks } = await manager.call('fork', { id, to: ['b', 'c'] })
    expect(forks).toMatchObject([{ ok: true }, { ok: false }])
    expect(await standing(manager)).toMatchObject({ head: snapshot, dirty: false })
  })

  it.each(['archive', 'patch', 'bundle', 'branch'])('an export as %s to nowhere leaves it as it was', async (form) => {
    const home = mkdtempSync(join(tmpdir(), 'aw-fork-'))
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    await using manager = await openManager({ home, env: {}, set: { 'storage.driver': 'dir' } })
    const before = await changed(manager)
    const nowhere = join(home, 'nowhere/x')
    const forms: Record<string, object> = {
      archive: { file: nowhere },
      patch: { patch: true, file: nowhere },
      bundle: { bundle: nowhere },
      branch: { branch: 'b', repo: nowhere },
    }
    await expect(manager.call('export', { of: id, ...forms[form] })).rejects.toBeInstanceOf(AwError)
    expect(await standing(manager)).toEqual(before)
  })
})
