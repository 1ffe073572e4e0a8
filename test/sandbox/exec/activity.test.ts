import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import type { Manager } from '../../../src/ports/manager.ts'
import { standing } from '../../support/background-process.ts'

async function makeManager(through: 'directory' | 'link' = 'directory'): Promise<Manager> {
  const base = mkdtempSync(join(tmpdir(), 'aw-activity-'))
  mkdirSync(join(base, 'real'))
  symlinkSync('real', join(base, 'link'))
  const manager = await openManager({ home: join(base, through === 'link' ? 'link' : 'real', 'home') })
  onTestFinished(async () => {
    await manager[Symbol.asyncDispose]()
    rmSync(base, { recursive: true, force: true })
  })
  return manager
}

/** A process of somebody else that uses a workspace until the test is over; resolves when it does. */
async function occupy(cwd: string, script: string): Promise<number> {
  const whole = `${script}; console.log('there'); setInterval(() => {}, 60_000)`
  return (await standing([process.execPath, '-e', whole], { cwd })).pid
}

const uses = [
  { how: 'its working directory', uses: 'cwd', start: (path: string) => occupy(join(path, 'work'), '') },
  {
    how: 'an open file',
    uses: 'file',
    start: (path: string) => occupy('/', `fs.openSync(${JSON.stringify(join(path, 'work/a'))}, 'r')`),
  },
  {
    how: 'an open directory',
    uses: 'file',
    start: (path: string) => occupy('/', `fs.openSync(${JSON.stringify(path)}, 'r')`),
  },
  {
    how: 'an open file that was removed',
    uses: 'file',
    start: (path: string) =>
      occupy('/', `const f = ${JSON.stringify(join(path, 'work/gone'))}; fs.openSync(f, 'w'); fs.unlinkSync(f)`),
  },
] as const

describe.each(uses)('a process with $how', ({ uses, start }) => {
  it.each(['directory', 'link'] as const)('keeps its workspace, in a home behind a %s', async (through) => {
    const manager = await makeManager(through)
    const { path, id } = await manager.call('create', { id: 'used' })
    await manager.call('fs write', { id, path: 'work/a', content: Buffer.from('1') })
    const pid = await start(path)
    const active = expect.objectContaining({
      code: 'workspace_active',
      data: { id, processes: [{ pid, command: 'node', uses }] },
    }) as unknown
    await expect(manager.call('destroy', { id })).rejects.toEqual(active)
    await expect(manager.call('reset', { id })).rejects.toEqual(active)
    await expect(manager.call('rename', { id, to: 'other' })).rejects.toEqual(active)
    await expect(manager.call('destroy', { id, include_leased: true })).rejects.toEqual(active)
    expect(await manager.call('show', { id })).toMatchObject({ state: 'ready', generation: 1, operation: null })
    expect(await manager.call('reset', { id, include_active: true })).toMatchObject({ generation: 2 })
    expect(await manager.call('destroy', { id, include_active: true })).toMatchObject({ removed: true })
  })
})

it('a process in a container that has the workspace mounted keeps it', async () => {
  const manager = await makeManager()
  const { id, path } = await manager.call('create', { id: 'used' })
  const elsewhere = mkdtempSync(join(tmpdir(), 'aw-elsewhere-'))
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }))
  // It says that it is there as who it is to be seen as.
  const script = `mount --bind "$1" "$2"; cd "$2/work"; exec "$3" -e 'console.log("there"); setInterval(() => {}, 60_000)'`
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const given = [`${path}/`, elsewhere, process.execPath]
  const inside = await standing(['unshare', ...user, '--mount', 'sh', '-ec', script, 'sh', ...given])
  const active = expect.objectContaining({
    code: 'workspace_active',
    data: { id, processes: [{ pid: inside.pid, command: 'node', uses: 'cwd' }] },
  }) as unknown
  await expect(manager.call('destroy', { id })).rejects.toEqual(active)
  await expect(manager.call('reset', { id })).rejects.toEqual(active)
  await inside[Symbol.asyncDispose]()
  expect(await manager.call('destroy', { id })).toMatchObject({ removed: true })
})

it('a process elsewhere, also in a workspace whose name begins the same, does not matter', async () => {
  const manager = await makeManager()
  const { path } = await manager.call('create', { id: 'other' })
  await manager.call('create', { id: 'other/second' })
  await occupy(path, '')
  expect(await manager.call('destroy', { id: 'other/second' })).toMatchObject({ removed: true })
})

it('a lease keeps a workspace until it is released, expires or the risk is taken', async () => {
  const manager = await makeManager()
  const { id } = await manager.call('create', { id: 'leased' })
  const lease = await manager.call('lease acquire', { id, holder: 'ci-42', ttl_ms: 600_000 })
  const isHeld = { holder: 'ci-42', expires_at: lease.expires_at }
  const refused = (held: object): unknown =>
    expect.objectContaining({ code: 'workspace_active', data: { id, lease: held } })
  const leased = refused(isHeld)
  await expect(manager.call('destroy', { id })).rejects.toEqual(leased)
  await expect(manager.call('destroy', { id, include_active: true })).rejects.toEqual(leased)
  const since = { acquired_at: lease.acquired_at, active_at: lease.acquired_at }
  await expect(manager.call('lease acquire', { id, holder: 'somebody else' })).rejects.toEqual(
    refused({ ...isHeld, ...since }),
  )
  expect(await manager.call('destroy', { id, include_leased: true })).toMatchObject({ removed: true })
  await manager.call('undelete', { id })
  await manager.call('lease release', { id, lease: lease.id })
  expect(await manager.call('destroy', { id })).toMatchObject({ removed: true })
})

it('force takes both risks, and the tree is still in the trash', async () => {
  const manager = await makeManager()
  const { id, path } = await manager.call('create', { id: 'forced' })
  await manager.call('fs write', { id, path: 'work/a', content: Buffer.from('kept') })
  await manager.call('lease acquire', { id, holder: 'ci' })
  await occupy(path, '')
  expect(await manager.call('destroy', { id, force: true })).toMatchObject({ removed: true })
  await manager.call('undelete', { id })
  expect(Buffer.from((await manager.call('fs read', { id, path: 'work/a' })) as Uint8Array).toString()).toBe('kept')
})

it('a process of aw that reads files is waited for, and keeps the workspace only from those who cannot wait', async () => {
  const base = mkdtempSync(join(tmpdir(), 'aw-activity-'))
  const home = join(base, 'home')
  await using manager = await openManager({ home, set: { 'locks.timeout_ms': '600000' } })
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const { path, id } = await manager.call('create', { id: 'used' })
  await manager.call('snapshot', { id })
  // As `aw cp` has them open.
  const script = `
    const fs = require('node:fs')
    fs.openSync(${JSON.stringify(join(home, 'log.db'))}, 'r')
    const fd = fs.openSync(${JSON.stringify(path)}, 'r')
    process.stdin.once('data', () => fs.closeSync(fd))
    console.log('there')`
  const reader = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void reader.kill('SIGKILL'))
  await once(reader.stdout, 'data')
  {
    await using hasty = await openManager({ home, set: { 'locks.timeout_ms': '0' } })
    const processes = [{ pid: reader.pid, command: 'node', uses: 'file' }]
    await expect(hasty.call('restore', { id })).rejects.toMatchObject({
      code: 'workspace_active',
      data: { id, processes },
    })
  }
  const restoring = manager.call('restore', { id })
  reader.stdin.write('go on')
  expect(await restoring).toMatchObject({ workspace: 'used/main' })
})

it('whoever asks for something of an erased workspace leaves no lock file behind', async () => {
  const base = mkdtempSync(join(tmpdir(), 'aw-activity-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  await using manager = await openManager({ home: base })
  const { id } = await manager.call('create', { id: 'used' })
  await manager.call('destroy', { id, purge: true })
  await using later = await openManager({ home: base })
  await expect(later.call('snapshot', { id })).rejects.toMatchObject({ code: 'invalid_state' })
  expect(readdirSync(join(base, 'locks')).filter((name) => name.startsWith(id))).toEqual([])
})
