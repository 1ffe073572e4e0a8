import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openManager } from '../aw.ts'
import { toAwError } from '../domain/errors.ts'
import type { Manager } from '../ports/manager.ts'

async function withFork(): Promise<{ manager: Manager; base: string; file: string }> {
  const home = mkdtempSync(join(tmpdir(), 'aw-fork-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const manager = await openManager({ home, env: {}, set: { 'storage.driver': 'dir' } })
  onTestFinished(() => manager[Symbol.asyncDispose]())
  await manager.call('create', { id: 'a' })
  await manager.call('fs write', { id: 'a', path: 'work/f', content: 'one' })
  const { snapshot } = await manager.call('fork', { id: 'a', to: ['b'] })
  return { manager, base: snapshot, file: join(home, 'storage/snapshots', snapshot) }
}

describe('a fork whose base cannot be read any more', () => {
  it.each([
    ['is gone', (file: string) => rmSync(file)],
    ['is damaged', (file: string) => writeFileSync(file, 'wrong')],
  ])('because it %s is kept, forked and written to all the same', async (_, spoil) => {
    const { manager, base, file } = await withFork()
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
