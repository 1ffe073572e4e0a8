import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openManager } from '../src/aw.ts'
import type { Manager } from '../src/ports/manager.ts'
import { collect } from './support/collect.ts'
import { checkHome } from './crash/check.ts'

/** What agents and other programs do to trees while aw is not looking must not wedge, hide or erase anything. */

interface Scene {
  readonly home: string
  readonly manager: Manager
  readonly id: string
  readonly path: string
  readonly volume: string
}

async function scene(input: { profile?: string; from?: { folder: string } } = {}): Promise<Scene> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-meddling-'))
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
  const home = join(base, 'home')
  const manager = await openManager({ home, env: {} })
  onTestFinished(() => manager[Symbol.asyncDispose]())
  const { id, path } = await manager.call('create', { id: 'a', ...input })
  return { home, manager, id, path, volume: join(home, 'storage/volumes', id) }
}

/** What a command behind no walls can do to what aw tells those inside. */
const forged =
  'chmod 644 ../.aw/*; echo forged > ../.aw/context.json; echo forged > ../.aw/run.json; rm ../.aw/workspace_config.json'

const failing = (code: string): unknown => expect.objectContaining({ code })

describe('a tree that somebody removed', () => {
  it('is not vouched for, and what to do is said', async () => {
    const { manager, id, volume } = await scene()
    expect(await manager.call('exists', { id: 'a' })).toEqual({ exists: true })
    fs.rmSync(volume, { recursive: true })
    const gone = {
      code: 'workspace_not_found',
      message: 'The tree of a/main was removed by something other than aw',
      hint: 'It has no snapshots. To free its name: aw recover a/main',
    }
    for (const ref of ['a', id]) {
      await expect(manager.call('path', { id: ref })).rejects.toMatchObject(gone)
      await expect(manager.call('paths', { id: ref })).rejects.toMatchObject(gone)
      expect(await manager.call('exists', { id: ref })).toEqual({ exists: false, lost: true })
    }
    await expect(manager.call('ensure', { id: 'a' })).rejects.toMatchObject(gone)
    for (const name of ['snapshot', 'describe', 'fs tree', 'start', 'fork'] as const)
      await expect(manager.call(name, { id: 'a' })).rejects.toMatchObject(gone)
    await expect(collect(manager.stream('diff', { from: 'a' }))).rejects.toMatchObject(gone)
    await expect(collect(manager.stream('exec', { id: 'a', argv: ['true'] }))).rejects.toMatchObject(gone)
    await manager.call('recover', { id: 'a' })
    expect(await manager.call('exists', { id: 'a' })).toEqual({ exists: false })
    await manager.call('create', { id: 'a' })
  })

  it('can be made anew from a snapshot as the hint says', async () => {
    const { manager, path, volume } = await scene()
    fs.writeFileSync(join(path, 'work/file'), 'kept')
    await manager.call('snapshot', { id: 'a' })
    fs.rmSync(volume, { recursive: true })
    await expect(manager.call('path', { id: 'a' })).rejects.toMatchObject({
      code: 'workspace_not_found',
      hint: 'Make it anew from its last snapshot: aw recover a/main && aw undelete a/main',
    })
    await manager.call('recover', { id: 'a' })
    await manager.call('undelete', { id: 'a' })
    expect(await manager.call('path', { id: 'a' })).toEqual({ path })
    expect(fs.readFileSync(join(path, 'work/file'), 'utf8')).toBe('kept')
  })
})

describe('the metadata directory', () => {
  it('is never written through a link that somebody put in its place', async () => {
    const { manager, path, id } = await scene()
    fs.writeFileSync(join(path, 'work/context.json'), 'mine')
    fs.rmSync(join(path, '.aw'), { recursive: true })
    fs.symlinkSync('work', join(path, '.aw'))
    await manager.call('destroy', { id })
    await manager.call('undelete', { id })
    expect(fs.readFileSync(join(path, 'work/context.json'), 'utf8')).toBe('mine')
    expect(fs.lstatSync(join(path, '.aw')).isDirectory()).toBe(true)
    expect(fs.readlinkSync(join(path, '.aw.moved-1'))).toBe('work')
  })

  it('is never written through a link in it', async () => {
    const { manager, path, id } = await scene()
    fs.writeFileSync(join(path, 'work/notes'), 'mine')
    fs.rmSync(join(path, '.aw/context.json'))
    fs.symlinkSync('../work/notes', join(path, '.aw/context.json'))
    await manager.call('rename', { id, to: 'b' })
    const now = join(path, '../../b/main')
    expect(fs.readFileSync(join(now, 'work/notes'), 'utf8')).toBe('mine')
    expect(JSON.parse(fs.readFileSync(join(now, '.aw/context.json'), 'utf8'))).toMatchObject({ workspace_path: now })
  })

  const forge = { id: 'a', isolation: 'none', argv: ['sh', '-c', forged] } as const
  const look = { id: 'a', isolation: 'namespace', argv: ['cat', '../.aw/context.json'] } as const
  const notesOf = (items: readonly { notes?: readonly string[] | undefined }[]): readonly string[] =>
    items.flatMap(({ notes = [] }) => notes.filter((note) => note.includes('.aw')))
  const mended = ['.aw did not match the log and was made again: context.json, run.json, workspace_config.json']

  it('is made again before a command runs if somebody forged it, which is told once', async () => {
    const { manager, path } = await scene()
    const before = fs.readFileSync(join(path, '.aw/context.json'), 'utf8')
    expect(notesOf(await collect(manager.stream('exec', forge)))).toEqual([])
    const items = await collect(manager.stream('exec', look))
    expect(Buffer.concat(items.map(({ data = '' }) => Buffer.from(data as Uint8Array))).toString()).toBe(before)
    expect(notesOf(items)).toEqual(mended)
    expect(fs.readdirSync(join(path, '.aw')).toSorted()).toEqual(
      ['context.json', 'run.json.moved-1', 'task_spec.json', 'workspace_config.json'].toSorted(),
    )
    expect(notesOf(await collect(manager.stream('exec', look)))).toEqual([])
    const told = await collect(manager.stream('events', { type: ['command_started'] }))
    expect(told.filter(({ data }) => JSON.stringify(data).includes('made again'))).toHaveLength(1)
  })

  it('is made again before a sandbox is started, which is told once', async () => {
    const { manager, path } = await scene()
    const before = fs.readFileSync(join(path, '.aw/context.json'), 'utf8')
    await collect(manager.stream('exec', forge))
    const { sandbox } = await manager.call('start', { id: 'a', isolation: 'namespace' })
    onTestFinished(() => manager.call('stop', { id: 'a' }).then(() => undefined))
    expect(notesOf([sandbox ?? {}])).toEqual(mended)
    expect(fs.readFileSync(join(path, '.aw/context.json'), 'utf8')).toBe(before)
    const { isolation: _, ...inside } = look
    expect(notesOf(await collect(manager.stream('exec', inside)))).toEqual([])
  })

  it('follows what aw itself changes', async () => {
    const { manager } = await scene()
    await manager.call('limit', { id: 'a', size: '7' })
    await collect(manager.stream('run', { id: 'a', argv: ['true'], isolation: 'none' }))
    for (const isolation of ['none', 'namespace'] as const)
      expect(notesOf(await collect(manager.stream('exec', { ...look, isolation })))).toEqual([])
  })

  it('does not replace what a source has under its name', async () => {
    const folder = fs.mkdtempSync(join(tmpdir(), 'aw-source-'))
    onTestFinished(() => fs.rmSync(folder, { recursive: true }))
    fs.mkdirSync(join(folder, 'real'))
    fs.writeFileSync(join(folder, 'real/run.json'), 'mine')
    fs.symlinkSync('real', join(folder, '.m'))
    const { path } = await scene({ profile: 'repo', from: { folder } })
    expect(fs.readFileSync(join(path, 'real/run.json'), 'utf8')).toBe('mine')
    expect(fs.readlinkSync(join(path, '.m.moved-1'))).toBe('real')
    expect(JSON.parse(fs.readFileSync(join(path, '.m/run.json'), 'utf8'))).toMatchObject({ run_id: 'a' })
  })

  it('in a repository leaves files of the source alone that aw does not write', async () => {
    const folder = fs.mkdtempSync(join(tmpdir(), 'aw-source-'))
    onTestFinished(() => fs.rmSync(folder, { recursive: true }))
    const names = ['context.json', 'notes.md', 'task_spec.json']
    fs.mkdirSync(join(folder, '.m'))
    for (const name of names) fs.writeFileSync(join(folder, '.m', name), 'theirs')
    const { manager, id, path } = await scene({ profile: 'repo', from: { folder } })
    const { argv: _, ...how } = look
    const items = await collect(manager.stream('exec', { ...how, argv: ['true'] }))
    expect(items.flatMap(({ notes = [] }) => notes.filter((note) => note.includes('.m ')))).toEqual([])
    await manager.call('rename', { id, to: 'b' })
    const metadata = join(path, '../../b/main/.m')
    expect(fs.readdirSync(metadata).toSorted()).toEqual(
      ['.gitignore', 'run.json', 'workspace_config.json', ...names].toSorted(),
    )
    for (const name of names) expect(fs.readFileSync(join(metadata, name), 'utf8')).toBe('theirs')
  })

  it.each([
    ['a file', (directory: string) => fs.writeFileSync(directory, 'x')],
    ['a link that leads out', (directory: string) => fs.symlinkSync('/etc', directory)],
    ['a pipe', (directory: string) => execFileSync('mkfifo', [directory])],
  ])('as %s is moved aside, and the workspace can be destroyed, brought back and renamed', async (_, replace) => {
    const { home, manager, path, id } = await scene()
    const directory = join(path, '.aw')
    fs.rmSync(directory, { recursive: true })
    replace(directory)
    await manager.call('destroy', { id })
    await manager.call('undelete', { id })
    expect(await manager.call('rename', { id, to: 'b' })).toMatchObject({ state: 'ready', problem: null })
    await checkHome(home, manager)
  })

  it('that cannot be written is told, and keeps nothing from coming back', async () => {
    const { manager, path, volume, id } = await scene()
    // Another file system in its place cannot be crossed, whoever we are.
    execFileSync('mount', ['-t', 'tmpfs', 'none', join(volume, '.aw')])
    const unmount = (): void => void spawnSync('umount', [join(volume, '.aw')])
    onTestFinished(unmount)
    const renamed = await manager.call('rename', { id, to: 'b' })
    expect(renamed).toMatchObject({ state: 'ready', operation: null, problem: { code: 'path_outside_workspace' } })
    expect(fs.existsSync(join(path, '../../b/main/work'))).toBe(true)
    unmount()
    expect(await manager.call('rename', { id, to: 'a' })).toMatchObject({ problem: null })
  })
})

describe('trees', () => {
  it('that were given up as lost and turn up again are in the trash', async () => {
    const { home, manager, volume, id, path } = await scene()
    fs.writeFileSync(join(path, 'work/file'), 'kept')
    fs.renameSync(volume, join(home, 'away'))
    expect(await manager.call('recover', {})).toMatchObject({ lost: ['a/main'] })
    expect(await manager.call('create', { id: 'a' })).toMatchObject({ state: 'ready' })
    fs.renameSync(join(home, 'away'), volume)
    expect(await manager.call('recover', {})).toMatchObject({ found: ['a/main'], orphans: [] })
    const back = await manager.call('undelete', { id, as: 'again' })
    expect(fs.readFileSync(join(back.path, 'work/file'), 'utf8')).toBe('kept')
    await checkHome(home, manager)
  })

  it('that vanish from the trash are closed in the log', async () => {
    const { home, manager, id } = await scene()
    await manager.call('destroy', { id })
    fs.rmSync(join(home, 'storage/trash', `${id}.1`), { recursive: true })
    expect(await manager.call('recover', {})).toMatchObject({ lost: ['a/main'] })
    expect(await manager.call('show', { id })).toMatchObject({ state: 'purged', trash: [] })
    await checkHome(home, manager)
  })

  it('that can only be erased in part stay known, and never come back as if whole', async () => {
    const { home, manager, id } = await scene()
    await manager.call('destroy', { id })
    const mounted = join(home, 'storage/trash', `${id}.1`, 'work')
    execFileSync('mount', ['-t', 'tmpfs', 'none', mounted])
    const unmount = (): void => {
      spawnSync('umount', [mounted])
      spawnSync('umount', [mounted.replace(`${id}.1`, `${id}.1.erasing`)])
    }
    onTestFinished(unmount)
    await expect(manager.call('purge', { id })).rejects.toBeDefined()
    await expect(manager.call('purge', { id })).rejects.toBeDefined()
    await expect(manager.call('undelete', { id })).rejects.toEqual(failing('workspace_not_found'))
    expect(await manager.call('recover', {})).toMatchObject({ orphans: [], leftovers: [], lost: [] })
    expect((await manager.call('gc', { older_than: '0s' })).items).toMatchObject([
      { error: expect.any(String) as string },
    ])
    expect(await manager.call('show', { id })).toMatchObject({ state: 'trashed' })
    unmount()
    expect(await manager.call('purge', { id })).toMatchObject({ purged: true })
    await checkHome(home, manager)
  })

  it('of a reset that was killed, whose new tree somebody swept away, go back to what they were', async () => {
    const { home, manager, path, id } = await scene()
    fs.writeFileSync(join(path, 'work/file'), 'kept')
    const program = fileURLToPath(new URL('crash/program.ts', import.meta.url))
    const input = JSON.stringify({ id })
    const volumes = join(home, 'storage/volumes')
    for (let point = 1; fs.readdirSync(volumes).length > 0; point++) {
      const env = { ...process.env, AW_CRASH_AT: String(point) }
      const { signal } = spawnSync(process.execPath, [program, 'call', home, 'reset', input], { env })
      expect(signal, 'the sweep ended without the moment it looks for').toBe('SIGKILL')
      if (fs.readdirSync(volumes).length > 0) await manager.call('recover', {})
    }
    fs.rmSync(join(home, 'storage/tmp'), { recursive: true })
    fs.mkdirSync(join(home, 'storage/tmp'))
    expect(await manager.call('recover', {})).toMatchObject({ recovered: [{ operation: 'reset', outcome: 'undone' }] })
    expect(fs.readFileSync(join(path, 'work/file'), 'utf8')).toBe('kept')
    await checkHome(home, manager)
  })
})

describe('a home that was moved or copied', () => {
  it.each(['moved', 'copied'])(
    '%s: its workspaces are not mistaken for the old ones, and recover finds them',
    async (how) => {
      const { home, manager, path, id } = await scene()
      fs.writeFileSync(join(path, 'work/file'), 'kept')
      await manager[Symbol.asyncDispose]()
      const other = `${home}-${how}`
      if (how === 'moved') fs.renameSync(home, other)
      else execFileSync('cp', ['-a', home, other])
      const there = await openManager({ home: other, env: {} })
      onTestFinished(() => there[Symbol.asyncDispose]())
      await expect(there.call('path', { id })).rejects.toEqual(failing('path_not_visible'))
      expect(await there.call('recover', {})).toMatchObject({ relinked: ['a/main'], failed: [] })
      const now = await there.call('path', { id })
      expect(now.path).toBe(join(other, 'workspaces/a/main'))
      expect(fs.readFileSync(join(now.path, 'work/file'), 'utf8')).toBe('kept')
      fs.writeFileSync(join(now.path, 'work/file'), 'new')
      await there.call('destroy', { id })
      await there.call('undelete', { id })
      await checkHome(other, there)
      if (how === 'copied') expect(fs.readFileSync(join(path, 'work/file'), 'utf8')).toBe('kept')
      else expect(fs.existsSync(home)).toBe(false)
    },
  )
})

describe('paths', () => {
  it('outside the home leave directories of others where they are', async () => {
    const base = fs.mkdtempSync(join(tmpdir(), 'aw-base-'))
    onTestFinished(() => fs.rmSync(base, { recursive: true }))
    fs.mkdirSync(join(base, 'found/keep'), { recursive: true })
    const set = { 'workspaces.base_path': join(base, 'found') }
    const manager = await openManager({ home: join(base, 'home'), set, env: {} })
    onTestFinished(() => manager[Symbol.asyncDispose]())
    await manager.call('create', { id: 'keep/x' })
    await manager.call('destroy', { id: 'keep/x' })
    expect(fs.readdirSync(join(base, 'found'))).toEqual(['keep'])
  })

  it('with a file where a directory must be are refused in plain words', async () => {
    const { home, manager } = await scene()
    fs.writeFileSync(join(home, 'workspaces/junk'), 'mine')
    await expect(manager.call('create', { id: 'junk/x' })).rejects.toEqual(failing('file_exists'))
    expect(fs.readFileSync(join(home, 'workspaces/junk'), 'utf8')).toBe('mine')
    fs.rmSync(join(home, 'workspaces/junk'))
    await checkHome(home, manager)
  })

  it('that lead elsewhere are not given out, and told by recover', async () => {
    const { manager, path } = await scene()
    fs.rmSync(path)
    fs.mkdirSync(path)
    await expect(manager.call('path', { id: 'a' })).rejects.toEqual(failing('path_not_visible'))
    const { failed } = await manager.call('recover', {})
    expect(failed).toMatchObject([{ name: 'a/main', message: expect.stringContaining(path) as string }])
    fs.rmdirSync(path)
    expect(await manager.call('recover', {})).toMatchObject({ relinked: ['a/main'], failed: [] })
    expect(await manager.call('path', { id: 'a' })).toEqual({ path })
  })

  it('and names of a rename that failed are the old ones in the log too', async () => {
    const { home, manager, id } = await scene()
    fs.mkdirSync(join(home, 'workspaces/taken/main'), { recursive: true })
    await expect(manager.call('rename', { id, to: 'taken' })).rejects.toEqual(failing('file_exists'))
    const types = []
    for await (const event of manager.stream('events', { workspace: 'a' })) types.push(event.type)
    expect(types.at(-1)).toBe('operation_abandoned')
    expect(await manager.call('show', { id })).toMatchObject({ workspace_id: 'a/main', operation: null })
  })
})

describe('an operation that died in a container', () => {
  it('is recovered from outside: under one kernel the lock is the proof', async () => {
    const { home, manager } = await scene()
    const program = fileURLToPath(new URL('crash/program.ts', import.meta.url))
    // The first process of a pid namespace cannot kill itself, so a shell comes first.
    const inside = ['--uts', '--pid', '--fork', '--mount-proc', 'sh', '-c', 'hostname box; "$@"; true', 'sh']
    const call = [process.execPath, program, 'call', home, 'create', '{"id":"boxed"}']
    spawnSync('unshare', [...inside, ...call], { env: { ...process.env, AW_CRASH_AT: '30' } })
    const { recovered, busy } = await manager.call('recover', {})
    expect(busy).toEqual([])
    expect(recovered).toMatchObject([{ name: 'boxed/main', operation: 'create' }])
    await checkHome(home, manager)
  })

  it('is stolen from its process only by name', async () => {
    const { manager } = await scene()
    await expect(manager.call('recover', { steal: true })).rejects.toEqual(failing('invalid_input'))
  })
})

describe('a tree that a power cut put back after it was destroyed', () => {
  async function putBack(): Promise<Scene & { readonly trash: string }> {
    const one = await scene()
    const { manager, id, path, volume, home } = one
    fs.writeFileSync(join(path, 'work/notes'), 'mine')
    await manager.call('destroy', { id })
    const trash = join(home, 'storage/trash', `${id}.1`)
    fs.renameSync(trash, volume)
    fs.mkdirSync(join(path, '..'), { recursive: true })
    fs.symlinkSync(volume, path)
    return { ...one, trash }
  }
  const isThere = (path: string): boolean => fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined

  it('is in the trash again when the home is recovered, and nothing is told as lost', async () => {
    const { manager, home, path, volume, trash } = await putBack()
    expect(await manager.call('recover', {})).toMatchObject({ lost: [], found: [], orphans: [], failed: [] })
    expect([isThere(path), isThere(volume)]).toEqual([false, false])
    expect(fs.readFileSync(join(trash, 'work/notes'), 'utf8')).toBe('mine')
    await checkHome(home, manager)
  })

  it('is erased when it is purged', async () => {
    const { manager, id, path, volume, trash } = await putBack()
    expect((await manager.call('purge', { id })).bytes).toBeGreaterThan(0)
    expect([isThere(path), isThere(volume), isThere(trash)]).toEqual([false, false, false])
    expect(await manager.call('recover', {})).toMatchObject({ lost: [], found: [], orphans: [], failed: [] })
  })

  it('comes back when it is asked for', async () => {
    const { manager, id, path } = await putBack()
    expect(await manager.call('undelete', { id })).toMatchObject({ state: 'ready' })
    expect(fs.readFileSync(join(path, 'work/notes'), 'utf8')).toBe('mine')
  })

  it('comes back under another name, and is not seen under the old one', async () => {
    const { manager, id, path } = await putBack()
    const { path: other } = await manager.call('undelete', { id, as: 'b' })
    expect(fs.readFileSync(join(other, 'work/notes'), 'utf8')).toBe('mine')
    expect(isThere(path)).toBe(false)
  })

  it('is not in the way of another of its name', async () => {
    const { manager, id, path, trash } = await putBack()
    const other = await manager.call('create', { id: 'a' })
    expect(other).toMatchObject({ state: 'ready', path })
    expect(isThere(join(path, 'work/notes'))).toBe(false)
    expect(await manager.call('recover', {})).toMatchObject({ lost: [], found: [], orphans: [], failed: [] })
    expect(fs.readlinkSync(path)).toContain(other.id)
    expect(fs.readFileSync(join(trash, 'work/notes'), 'utf8')).toBe('mine')
    expect(await manager.call('show', { id })).toMatchObject({ state: 'trashed' })
  })
})
