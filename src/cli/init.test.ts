import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openManager } from '../aw.ts'
import { runCli } from '../../test/support/cli.ts'

let home: string
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'aw-init-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  home = join(folder, 'home')
})

const aw = (...args: string[]) => runCli([...args, '--home', home])

test('a home is set up, told about, and given up', async () => {
  const root = join(home, 'storage')
  expect(await aw('init', '--storage', 'dir')).toMatchObject({
    exit: 0,
    stderr: '',
    stdout: `Trees are kept by dir in ${root}\n`,
  })
  expect((await aw('init', '--storage=dir')).stdout).toBe(`Trees are kept by dir in ${root}; nothing to change\n`)
  expect(JSON.parse((await aw('init', '--json')).stdout)).toEqual({
    home,
    storage_root: root,
    driver: 'dir',
    changed: false,
    pool: null,
    check: null,
  })
  expect((await aw('deinit')).stdout).toBe(`${root} is given up; the next use of the home chooses anew\n`)
  expect(JSON.parse((await aw('deinit', '--json')).stdout)).toEqual({ home, storage_root: root, pool: null })
})

test('bases that nobody needs go with the storage; a template must be removed first', async () => {
  const open = () => openManager({ home, env: {} })
  {
    await using manager = await open()
    await manager.call('create', { id: 'origin' })
    await manager.call('template create', { name: 'page', from: { workspace: 'origin' } })
    await manager.call('create', { id: 'one', template: 'page' })
    await manager.call('destroy', { id: 'origin', purge: true })
    await manager.call('template remove', { name: 'page' })
    await manager.call('destroy', { id: 'one', purge: true })
    expect(await manager.call('bases list', {})).toHaveLength(1)
  }
  expect(await aw('deinit')).toMatchObject({ exit: 0, stdout: expect.stringContaining('is given up') as string })
  {
    await using manager = await open()
    expect(await manager.call('bases list', {})).toEqual([])
    await manager.call('create', { id: 'origin' })
    await manager.call('template create', { name: 'page', from: { workspace: 'origin' } })
    await manager.call('destroy', { id: 'origin', purge: true })
  }
  const { exit, stderr } = await aw('deinit')
  expect(exit).not.toBe(0)
  expect(stderr).toMatch(/There are templates in this home: page\n.*aw template remove page\n/s)
})

test.each([
  [['init', '--storage', 'floppy'], 'one of auto, btrfs, overlay, dir'],
  [['init', '--size', 'big'], 'is not a size'],
  [['init', '--storage', 'dir', '--size', '1G'], 'this home has none'],
  [['init', 'btrfs'], 'takes flags only'],
  [['deinit', 'now'], 'takes flags only'],
  [['deinit', '--yess'], 'There is no flag --yess'],
])('%j is refused', async (args, message) => {
  const { exit, stdout, stderr } = await aw(...args)
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
  expect(stderr).toContain(message)
})

test('only btrfs has checksums to check', async () => {
  const { exit, stderr } = await aw('init', '--storage', 'dir', '--check')
  expect(exit).toBe(6)
  expect(stderr).toContain('have no checksums')
})

test('help has the flags, completion offers them', async () => {
  const help = (await runCli(['help', 'init'])).stdout
  for (const flag of ['--storage auto|btrfs|overlay|dir', '--size SIZE', '--check']) expect(help).toContain(flag)
  const script = (await runCli(['completion', 'bash'])).stdout
  expect(script).toContain(`'init --storage') REPLY='auto btrfs overlay dir'`)
  expect(script).toMatch(/'deinit'\) REPLY='--yes /)
})
