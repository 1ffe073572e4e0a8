import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openManager, type OpenOptions } from '../src/aw.ts'
import { AwError, type ErrorCode } from '../src/domain/errors.ts'
import { openAw } from '../src/index.ts'
import type { Manager } from '../src/ports/manager.ts'
import { checkHome } from './crash/check.ts'

/** Homes in odd places, and others who meddle with what is in them. */

const code = (expected: ErrorCode, data: object = {}): unknown =>
  expect.objectContaining({ code: expected, data: expect.objectContaining(data) as unknown })

function makeBase(parent = tmpdir()): string {
  const base = fs.mkdtempSync(join(parent, 'aw-homes-'))
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
  return base
}

async function open(options: OpenOptions): Promise<Manager> {
  const manager = await openManager({ env: {}, ...options })
  onTestFinished(() => manager[Symbol.asyncDispose]())
  return manager
}

/** From making a workspace to erasing it, with its file. */
async function live(manager: Manager, id = 'a'): Promise<string> {
  const { path } = await manager.call('create', { id })
  await manager.call('fs write', { id, path: 'work/file', content: Buffer.from('kept') })
  expect(fs.readFileSync(join(path, 'work/file'), 'utf8')).toBe('kept')
  await manager.call('rename', { id, to: `${id}/renamed` })
  await manager.call('destroy', { id: `${id}/renamed` })
  await manager.call('undelete', { id: `${id}/renamed` })
  await manager.call('reset', { id: `${id}/renamed` })
  const { workspace } = await manager.call('destroy', { id: `${id}/renamed`, purge: true })
  return workspace?.state ?? 'unknown'
}

describe('a home', () => {
  it.each(['with spaces', 'ünïcödé 名前', 'quote\'s "and" $dollar', 'with\nnewline', '%41 %2f'])(
    'at %j',
    async (name) => {
      const home = join(makeBase(), name)
      const manager = await open({ home })
      expect(await live(manager)).toBe('purged')
      await checkHome(home, manager)
    },
  )

  it('given with a slash at the end, with dots, or relative', async () => {
    const base = makeBase()
    for (const home of [join(base, 'home/'), `${base}/./x/../home`, 'home']) {
      const manager = await open({ home, cwd: base })
      expect(await live(manager)).toBe('purged')
      await checkHome(join(base, 'home'), manager)
    }
  })

  it('behind a link, and a base path behind a link', async () => {
    const base = makeBase()
    for (const name of ['real', 'places']) fs.mkdirSync(join(base, name))
    fs.symlinkSync('real', join(base, 'home'))
    fs.symlinkSync('places', join(base, 'found'))
    const manager = await open({ home: join(base, 'home'), set: { 'workspaces.base_path': join(base, 'found') } })
    const { path } = await manager.call('create', { id: 'a' })
    expect(path).toBe(join(base, 'found/a/main'))
    expect(fs.realpathSync.native(path)).toMatch(new RegExp(`^${base}/real/storage/volumes/ws_`))
    await live(manager, 'b')
    await manager.call('destroy', { id: 'a' })
    // The directories of the tasks stay: outside the home they could be somebody else's.
    expect(fs.readdirSync(join(base, 'places')).flatMap((task) => fs.readdirSync(join(base, 'places', task)))).toEqual(
      [],
    )
  })

  it('without a name is the default one, never the directory one happens to be in', async () => {
    const base = makeBase()
    const run = (env: Record<string, string>, ...args: string[]) =>
      spawnSync(process.execPath, [join(import.meta.dirname, '../src/cli/main.ts'), ...args], {
        cwd: base,
        env: { PATH: process.env['PATH'], ...env },
        encoding: 'utf8',
      })
    expect(run({ AW_HOME: '', HOME: join(base, 'user') }, 'create', 'a').stdout).toBe(
      `${join(base, 'user/.aw/workspaces/a/main')}\n`,
    )
    expect(run({ AW_HOME: '', HOME: '' }, 'list').status).not.toBe(0)
    expect(fs.readdirSync(base)).toEqual(['user'])
  })

  it('is found from a directory that is not there any more', () => {
    const base = makeBase()
    const aw = `"${process.execPath}" "${join(import.meta.dirname, '../src/cli/main.ts')}"`
    const script = `mkdir gone && cd gone && rmdir ../gone && ${aw} --home "${base}/home" create a`
    const { stdout, status } = spawnSync('sh', ['-c', script], { cwd: base, encoding: 'utf8' })
    expect({ stdout, status }).toEqual({ stdout: `${base}/home/workspaces/a/main\n`, status: 0 })
  })

  it('that is no directory is refused with a code, as are options that do not exist', async () => {
    const base = makeBase()
    fs.writeFileSync(join(base, 'file'), '')
    await expect(openAw({ home: join(base, 'file') })).rejects.toBeInstanceOf(AwError)
    await expect(openAw({ hoem: base } as object)).rejects.toEqual(code('invalid_input'))
  })

  it('on a disk with too little left makes nothing, and says what to do', async () => {
    const home = join(makeBase(), 'home')
    const manager = await open({ home, set: { 'space.min_free_mb': String(10 ** 9) } })
    await expect(manager.call('create', { id: 'a' })).rejects.toEqual(
      expect.objectContaining({ code: 'disk_full', hint: expect.stringContaining('aw gc') as string }),
    )
    expect(await manager.call('list', { all: true })).toEqual([])
    await checkHome(home, manager)
  })

  it('is for its user alone; what is in a workspace has the usual modes, or those that were asked for', async () => {
    const modeOf = (path: string): string => (fs.statSync(path).mode & 0o777).toString(8)
    const home = join(makeBase(), 'home')
    const usual = await (await open({ home })).call('create', { id: 'a', config: { claude_md: 'x' } })
    for (const own of ['', 'locks', 'texts', 'storage']) expect(modeOf(join(home, own))).toBe('700')
    expect(modeOf(join(home, 'log.db'))).toBe('600')
    expect(['', 'work', 'CLAUDE.md'].map((name) => modeOf(join(usual.path, name)))).toEqual(['755', '755', '644'])
    const set = { 'workspaces.dir_mode': '0700', 'workspaces.file_mode': '0600' }
    const asked = await (await open({ home, set })).call('create', { id: 'b', config: { claude_md: 'x' } })
    expect(['', 'work', 'CLAUDE.md'].map((name) => modeOf(join(asked.path, name)))).toEqual(['700', '700', '600'])
  })

  it('behind a link to nothing is refused in plain words', async () => {
    const base = makeBase()
    fs.symlinkSync('nowhere', join(base, 'home'))
    await expect(openManager({ home: join(base, 'home'), env: {} })).rejects.toThrow(/The home .* cannot be used/)
    fs.writeFileSync(join(base, 'file'), '')
    await expect(openManager({ home: join(base, 'file/home'), env: {} })).rejects.toThrow(/not a directory/)
  })

  it.each([0o077, 0o000, 0o027])(
    'made under umask %i (decimal) is private, and its workspaces have the modes that were asked for',
    async (umask) => {
      const home = join(makeBase(), 'home')
      const before = process.umask(umask)
      onTestFinished(() => void process.umask(before))
      const manager = await open({ home })
      const { path } = await manager.call('create', { id: 'a', config: { claude_md: 'x' } })
      await manager.call('fs write', { id: 'a', path: 'work/new/file', content: Buffer.from('') })
      const mode = (file: string): string => (fs.statSync(file).mode & 0o7777).toString(8)
      for (const name of ['', 'storage', 'storage/volumes', 'locks', 'texts'])
        expect(mode(join(home, name))).toBe('700')
      for (const name of ['', 'work', 'work/new', '.aw']) expect(mode(join(path, name))).toBe('755')
      for (const name of ['work/new/file', 'CLAUDE.md']) expect(mode(join(path, name))).toBe('644')
      expect(mode(join(path, '.aw/context.json'))).toBe('444')
    },
  )

  it('where one may not write is refused in plain words', async () => {
    const base = makeBase()
    await (await open({ home: join(base, 'home') })).call('create', { id: 'a' })
    fs.mkdirSync(join(base, 'other'))
    if (process.getuid?.() === 0) mountReadOnly(join(base, 'other'))
    else fs.chmodSync(join(base, 'other'), 0o500)
    const refused = openManager({ home: join(base, 'other/home'), env: {} })
    await expect(refused).rejects.toEqual(code('permission_denied'))
    await expect(refused).rejects.toThrow(/The home .* cannot be used/)
  })

  // Only root can mount one.
  it.each(process.getuid?.() === 0 ? ['in use', 'closed'] : [])(
    'on a read-only file system, %s when it became so, can be read',
    async (state) => {
      const base = makeBase()
      const writer = await openManager({ home: join(base, 'home'), env: {} })
      const { path } = await writer.call('create', { id: 'a' })
      await writer.call('fs write', { id: 'a', path: 'work/file', content: Buffer.from('kept') })
      if (state === 'closed') await writer[Symbol.asyncDispose]()
      else onTestFinished(() => writer[Symbol.asyncDispose]())
      mountReadOnly(base)

      const manager = await open({ home: join(base, 'home') })
      expect(await manager.call('list', {})).toMatchObject([{ id: expect.stringMatching(/^ws_/) as unknown, path }])
      const content = await manager.call('fs read', { id: 'a', path: 'work/file' })
      expect(Buffer.from(content as Uint8Array).toString()).toBe('kept')
      const types: string[] = []
      for await (const { type } of manager.stream('events', {})) types.push(type)
      expect(types).toContain('workspace_created')
      expect(await manager.call('audit verify', {})).toMatchObject({ intact: true, problems: [] })

      const readOnly = expect.objectContaining({
        code: 'permission_denied',
        message: expect.stringMatching(/read-only/) as unknown,
      }) as unknown
      await expect(manager.call('create', { id: 'b' })).rejects.toEqual(readOnly)
      await expect(manager.call('destroy', { id: 'a' })).rejects.toEqual(readOnly)
      await expect(manager.call('label', { id: 'a', labels: { a: 'b' } })).rejects.toEqual(readOnly)
      await expect(manager.call('audit seal', {})).rejects.toEqual(readOnly)
      const write = manager.call('fs write', { id: 'a', path: 'work/b', content: Buffer.from('') })
      await expect(write).rejects.toEqual(code('permission_denied'))
    },
  )
})

function mountReadOnly(directory: string): void {
  execFileSync('mount', ['--bind', directory, directory])
  onTestFinished(() => void execFileSync('umount', ['-l', directory]))
  execFileSync('mount', ['-o', 'remount,bind,ro', directory])
}

describe('the places of a home', () => {
  it('may be on several file systems', async () => {
    const [base, shm] = [makeBase(), makeBase('/dev/shm')]
    expect(fs.statSync(base).dev).not.toBe(fs.statSync(shm).dev)
    const elsewhere = await open({ home: join(base, 'one'), set: { 'workspaces.base_path': join(shm, 'found') } })
    await live(elsewhere)
    const stored = await open({ home: join(base, 'two'), set: { 'storage.root': join(shm, 'storage') } })
    await live(stored)
    expect(fs.readdirSync(join(shm, 'storage/volumes'))).toEqual([])
  })

  it('two homes may share a base path; a name belongs to the one that was first', async () => {
    const base = makeBase()
    const set = { 'workspaces.base_path': join(base, 'found') }
    const [one, two] = [await open({ home: join(base, 'one'), set }), await open({ home: join(base, 'two'), set })]
    const mine = await one.call('create', { id: 'a' })
    await expect(two.call('create', { id: 'a' })).rejects.toEqual(code('file_exists', { path: mine.path }))
    expect(await two.call('list', { all: true })).toMatchObject([{ state: 'purged', operation: null }])
    await two.call('create', { id: 'a/other' })
    await two.call('create', { id: 'b' })
    await expect(two.call('rename', { id: 'b', to: 'a' })).rejects.toEqual(code('file_exists'))
    expect(await two.call('show', { id: 'b' })).toMatchObject({ workspace_id: 'b/main', operation: null })
    expect(await one.call('recover', {})).toMatchObject({ orphans: [], lost: [], relinked: [] })
    expect(await two.call('recover', {})).toMatchObject({ orphans: [], lost: [], relinked: [] })
    await one.call('destroy', { id: 'a' })
    expect(fs.readdirSync(join(base, 'found/a'))).toEqual(['other'])
    await two.call('rename', { id: 'b', to: 'a' })
    await expect(one.call('undelete', { id: 'a' })).rejects.toEqual(code('file_exists'))
    expect(await one.call('show', { id: mine.id })).toMatchObject({ state: 'trashed', operation: null })
    expect(await one.call('undelete', { id: 'a', as: 'c' })).toMatchObject({ state: 'ready' })
  })
})

describe('somebody else', () => {
  async function setUp(): Promise<{ home: string; manager: Manager; path: string; id: string; volume: string }> {
    const home = join(makeBase(), 'home')
    const manager = await open({ home })
    const { path, id } = await manager.call('create', { id: 'a' })
    await manager.call('fs write', { id, path: 'work/file', content: Buffer.from('kept') })
    return { home, manager, path, id, volume: join(home, 'storage/volumes', id) }
  }

  it.each(['file', 'directory'])('has a %s at the path of a new workspace: it is left alone', async (kind) => {
    const { home, manager } = await setUp()
    const path = join(home, 'workspaces/b/main')
    fs.mkdirSync(join(home, 'workspaces/b'))
    if (kind === 'file') fs.writeFileSync(path, 'mine')
    else fs.mkdirSync(path)
    await expect(manager.call('create', { id: 'b' })).rejects.toEqual(code('file_exists', { path }))
    expect(fs.existsSync(path)).toBe(true)
    expect(fs.readdirSync(join(home, 'storage/tmp'))).toEqual([])
    fs.rmSync(path, { recursive: true })
    expect(await manager.call('create', { id: 'b' })).toMatchObject({ state: 'ready' })
    await checkHome(home, manager)
  })

  it('removes the link: recover makes it anew', async () => {
    const { home, manager, path } = await setUp()
    fs.rmSync(join(home, 'workspaces'), { recursive: true })
    expect(await manager.call('recover', {})).toMatchObject({ relinked: ['a/main'], lost: [] })
    expect(fs.readFileSync(join(path, 'work/file'), 'utf8')).toBe('kept')
    await checkHome(home, manager)
  })

  it('puts a directory in the place of the link: destroy and undelete work around it', async () => {
    const { manager, path, id } = await setUp()
    fs.rmSync(path)
    fs.mkdirSync(path)
    fs.writeFileSync(join(path, 'mine'), '')
    expect(await manager.call('recover', {})).toMatchObject({ relinked: [], lost: [] })
    await manager.call('destroy', { id })
    expect(fs.existsSync(join(path, 'mine'))).toBe(true)
    await expect(manager.call('undelete', { id })).rejects.toEqual(code('file_exists'))
    expect(await manager.call('show', { id })).toMatchObject({ state: 'trashed', operation: null })
    const back = await manager.call('undelete', { id, as: 'b' })
    expect(fs.readFileSync(join(back.path, 'work/file'), 'utf8')).toBe('kept')
  })

  it('removes the tree: the workspace is lost and its name free, but its trash stays', async () => {
    const { home, manager, id, path, volume } = await setUp()
    await manager.call('reset', { id })
    fs.rmSync(volume, { recursive: true })
    expect(await manager.call('recover', {})).toMatchObject({ lost: ['a/main'], orphans: [] })
    expect(await manager.call('show', { id })).toMatchObject({ state: 'trashed', problem: { code: 'lost' } })
    expect(fs.existsSync(path)).toBe(false)
    await manager.call('create', { id: 'a' })
    const old = await manager.call('undelete', { id: `${id}.1`, as: 'old' })
    expect(fs.readFileSync(join(old.path, 'work/file'), 'utf8')).toBe('kept')
    await expect(manager.call('undelete', { id })).rejects.toEqual(code('workspace_not_found'))
    expect(fs.readdirSync(join(home, 'storage/tmp'))).toEqual([])
  })

  it.each(['destroy', 'reset', 'rename'] as const)(
    'removes the tree before %s: no operation stays in progress',
    async (operation) => {
      const { manager, id, volume } = await setUp()
      fs.rmSync(volume, { recursive: true })
      await manager.call(operation, { id, to: 'b' }).catch(() => undefined)
      await manager.call('recover', {})
      expect(await manager.call('show', { id })).toMatchObject({ state: 'purged', operation: null })
      expect(await manager.call('create', { id: 'a' })).toMatchObject({ state: 'ready' })
    },
  )

  it('removes a tree from the trash: undelete says so', async () => {
    const { home, manager, id } = await setUp()
    await manager.call('destroy', { id })
    fs.rmSync(join(home, 'storage/trash', `${id}.1`), { recursive: true })
    await expect(manager.call('undelete', { id })).rejects.toEqual(code('workspace_not_found'))
    expect(await manager.call('show', { id })).toMatchObject({ state: 'purged', operation: null })
  })

  it('puts something into the storage root: it is reported and kept', async () => {
    const { home, manager } = await setUp()
    fs.mkdirSync(join(home, 'storage/volumes/mine'))
    fs.mkdirSync(join(home, 'storage/tmp/mine'))
    expect(await manager.call('recover', {})).toMatchObject({ orphans: ['volumes/mine'], leftovers: [] })
    expect(fs.readdirSync(join(home, 'storage/tmp'))).toEqual(['mine'])
  })

  it('mounts the storage root of another home there: nothing is concluded from that either', async () => {
    const base = makeBase()
    const storage = (name: string): string => join(base, name, 'storage')
    const manager = await open({ home: join(base, 'one') })
    const { id } = await manager.call('create', { id: 'a' })
    await (await open({ home: join(base, 'two') })).call('create', { id: 'b' })
    fs.renameSync(storage('one'), join(base, 'away'))
    fs.cpSync(storage('two'), storage('one'), { recursive: true })
    await expect(manager.call('recover', {})).rejects.toEqual(code('storage_unavailable'))
    await expect(manager.call('destroy', { id })).rejects.toEqual(code('cleanup_failed'))
    fs.rmSync(storage('one'), { recursive: true })
    fs.renameSync(join(base, 'away'), storage('one'))
    expect(await manager.call('destroy', { id })).toMatchObject({ removed: true, workspace: { state: 'trashed' } })
  })

  it('unmounts the storage root: nothing is concluded from that', async () => {
    const base = makeBase()
    const set = { 'storage.root': join(base, 'mount/storage') }
    const { id } = await (await open({ home: join(base, 'home'), set })).call('create', { id: 'a' })
    fs.renameSync(join(base, 'mount'), join(base, 'away'))
    fs.mkdirSync(join(base, 'mount'))
    const manager = await open({ home: join(base, 'home'), set })
    await expect(manager.call('recover', {})).rejects.toEqual(code('storage_unavailable'))
    await expect(manager.call('create', { id: 'b' })).rejects.toEqual(code('storage_unavailable'))
    await expect(manager.call('reset', { id })).rejects.toEqual(code('storage_unavailable'))
    fs.rmdirSync(join(base, 'mount'))
    fs.renameSync(join(base, 'away'), join(base, 'mount'))
    expect(await manager.call('recover', {})).toMatchObject({ lost: [], orphans: [], leftovers: [] })
    expect(await manager.call('show', { id })).toMatchObject({ state: 'ready', operation: null })
  })
})
