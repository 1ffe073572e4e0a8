import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../aw.ts'
import { toAwError } from '../../domain/errors.ts'
import type { Manager } from '../../ports/manager.ts'
import { memoryCore, type MemoryCore } from '../../../test/memory/core.ts'
import { readMemoryTree } from '../../../test/memory/tree.ts'

const id = 'a'
const write = (manager: Manager, content: string, path = 'work/f'): Promise<unknown> =>
  manager.call('fs write', { id, path, content })
const read = async (manager: Manager, path = 'work/f'): Promise<string> =>
  Buffer.from((await manager.call('fs read', { id, path })) as Uint8Array).toString()

async function withTwo(manager: Manager): Promise<void> {
  await manager.call('create', { id })
  for (const content of ['one', 'two']) {
    await write(manager, content)
    await manager.call('snapshot', { id, label: content })
  }
}

function contentsOnDisk({ disk }: MemoryCore): string[] {
  const names = [...(disk.directory('/storage/snapshots')?.entries.keys() ?? [])]
  return names.flatMap((name) => {
    const file = readMemoryTree(disk, `/storage/snapshots/${name}`)['work/f']
    return file?.kind === 'file' ? [file.content] : []
  })
}

it.each(['undo', 'redo', 'restore'] as const)(
  'what is written while %s is at work stays in what it keeps',
  async (how) => {
    let late: (() => Promise<unknown>) | undefined
    const { manager } = memoryCore({
      onRestore: async () => {
        const act = late
        late = undefined
        await act?.()
      },
    })
    await withTwo(manager)
    if (how === 'redo') await manager.call('undo', { id })
    late = () => write(manager, 'written at the last moment')
    const { kept } =
      how === 'restore' ? await manager.call(how, { id, snapshot: 'one' }) : await manager.call(how, { id })
    expect(await read(manager)).toBe(how === 'redo' ? 'two' : 'one')
    await manager.call('restore', { id, snapshot: kept ?? '' })
    expect(await read(manager)).toBe('written at the last moment')
  },
)

it('what is written to a path while others are fetched is kept beside the rest', async () => {
  let late: (() => Promise<unknown>) | undefined
  const { manager } = memoryCore({
    onImport: async () => {
      const act = late
      late = undefined
      await act?.()
    },
  })
  await withTwo(manager)
  late = () => write(manager, 'written at the last moment')
  await manager.call('restore', { id, snapshot: 'one', paths: ['work/f'] })
  expect(await read(manager)).toBe('one')
  const last = (await manager.call('snapshots', { id })).at(-1)
  // What the copy before it counted is not what this one would.
  expect(last).toMatchObject({ reason: 'safety', files_changed: null })
  await manager.call('restore', { id, snapshot: last?.id ?? '' })
  expect(await read(manager)).toBe('written at the last moment')
})

it('what is written after a crash in a restore of paths is kept, wherever the crash was', async () => {
  for (let point = 0; ; point++) {
    const core = memoryCore()
    await withTwo(core.manager)
    const mortal = core.start(point)
    const restoring = mortal.manager.call('restore', { id, snapshot: 'one', paths: ['work/f'] })
    const isDone = await restoring.then(
      () => true,
      () => false,
    )
    mortal.end()
    const { manager } = core.start()
    await write(manager, 'written since')
    await manager.call('recover', {})
    const contents = [await read(manager), ...contentsOnDisk(core)]
    expect(contents, `killed after ${point} steps`).toContain('written since')
    if (isDone && mortal.left() > 0) break
  }
})

it('a restore that can go neither forward nor back comes to an end, and the workspace can be destroyed', async () => {
  const base = mkdtempSync(join(tmpdir(), 'aw-restore-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  await using manager = await openManager({ home: join(base, 'home'), env: {}, set: { 'storage.driver': 'dir' } })
  await manager.call('create', { id })
  for (const content of ['one', 'two']) {
    for (const name of ['a', 'z']) await write(manager, `${content} ${name}`, `work/${name}`)
    await manager.call('snapshot', { id, label: content })
  }
  for (const content of ['one z', 'two a']) {
    const name = hash('sha256', content)
    const object = join(base, 'home/storage/objects', name.slice(0, 2), name)
    chmodSync(object, 0o600)
    writeFileSync(object, 'wrong')
  }
  const failed = await manager.call('restore', { id, snapshot: 'one' }).catch(toAwError)
  expect(failed).toMatchObject({
    code: 'filesystem_error',
    hint: expect.stringContaining('aw restore a/main snap_') as string,
  })
  // As it was, and as it was found half way.
  const safety = { reason: 'safety' }
  const snapshots = await manager.call('snapshots', { id })
  expect(snapshots).toMatchObject([{ label: 'one' }, { label: 'two', head: true }, safety, safety])
  expect(await manager.call('show', { id })).toMatchObject({
    state: 'ready',
    operation: null,
    problem: { code: 'filesystem_error' },
  })
  expect(await manager.call('destroy', { id })).toMatchObject({ removed: true })
})

it('nothing to undo is told with the way to what was kept before a reset', async () => {
  const { manager } = memoryCore()
  await manager.call('create', { id })
  const undo = (): Promise<unknown> => manager.call('undo', { id }).catch(toAwError)
  expect(await undo()).toMatchObject({ code: 'nothing_to_undo', hint: 'Take one: aw snapshot a/main' })
  await manager.call('snapshot', { id, label: 'one' })
  expect(await undo()).toMatchObject({ code: 'nothing_to_undo', message: 'a/main is where it began' })
  await manager.call('reset', { id })
  expect(await undo()).toMatchObject({
    code: 'nothing_to_undo',
    hint: expect.stringContaining('aw restore a/main SNAPSHOT') as unknown,
  })
})

it('a path that is nowhere is told with the one that was meant', async () => {
  const { manager } = memoryCore()
  await withTwo(manager)
  const restored = (path: string): Promise<unknown> =>
    manager.call('restore', { id, snapshot: 'one', paths: [path] }).catch(toAwError)
  const hint = 'Paths begin at the root of the workspace'
  expect(await restored('g')).toMatchObject({ code: 'file_not_found', hint: `${hint}; did you mean work/g?` })
  expect(await restored('work/g')).toMatchObject({ code: 'file_not_found', hint })
})
