import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { overlayStorage } from '../src/drivers/storage/overlay.ts'
import type { Place } from '../src/ports/storage-driver.ts'
import { code } from '../src/testing/storage-contract.ts'

const volume: Place = { area: 'volumes', name: 'ws' }
const fork: Place = { area: 'volumes', name: 'fork' }
const snap = (n: number): Place => ({ area: 'snapshots', name: `sn_${n}` })

it('a tree of an ordinary user is used in a sandbox, frozen, forked and restored', async () => {
  const base = mkdtempSync(join(tmpdir(), 'aw-sandbox-'))
  const storage = overlayStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
  const inSandbox = (place: Place, script: string): string => {
    const it = storage.attachment(place)
    if (it.kind !== 'overlay') throw new Error('It has a path on the host')
    mkdirSync(join(base, 'mnt'), { recursive: true })
    const options = `userxattr,lowerdir=${it.lower.join(':')},upperdir=${it.upper},workdir=${it.work}`
    const shell = `mount -t overlay -o ${options} aw ${base}/mnt; cd ${base}/mnt; ${script}`
    return execFileSync('unshare', ['-Urm', 'sh', '-ec', shell], { encoding: 'utf8' })
  }
  expect(storage.capabilities.visibility).toBe('sandbox')
  expect(await storage.probe()).toMatchObject({ usable: true })
  await storage.create(volume, { mode: 0o750 })
  inSandbox(volume, 'echo one > a; mkdir d; echo two > d/b')
  expect(await storage.snapshot(volume, snap(1))).toMatchObject({ mechanism: 'overlay freeze', consistency: 'atomic' })
  await storage.create(fork, { from: snap(1) })
  expect(inSandbox(fork, 'stat -c %a .; cat a d/b; rm a; echo three > d/c')).toBe('750\none\ntwo\n')
  expect(inSandbox(volume, 'echo other > a; ls d')).toBe('b\n')
  await storage.restore(volume, snap(1), snap(2))
  expect(inSandbox(volume, 'cat a')).toBe('one\n')
  expect(inSandbox(fork, 'ls . d')).toBe('.:\nd\n\nd:\nb\nc\n')
  await expect(storage.read(volume, 'a', { maxBytes: 9 })).rejects.toEqual(code('path_not_visible'))
  for (const place of await storage.list()) await storage.erase(place)
  expect(await storage.list()).toEqual([])
  expect(execFileSync('ls', [join(base, 'storage', 'layers')], { encoding: 'utf8' })).toBe('0\n1\n')
})

it('a tree that a sandbox has mounted is in use', async () => {
  const base = mkdtempSync(join(tmpdir(), 'aw-sandbox-'))
  const storage = overlayStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
  await storage.create(volume)
  const it = storage.attachment(volume)
  if (it.kind !== 'overlay') throw new Error('It has a path on the host')
  mkdirSync(join(base, 'mnt'))
  const options = `userxattr,lowerdir=${it.lower.join(':')},upperdir=${it.upper},workdir=${it.work}`
  const shell = `mount -t overlay -o ${options} aw ${base}/mnt; echo 1 > ${base}/mnt/a; touch ${base}/up; exec sleep 60`
  const { spawn } = await import('node:child_process')
  const sandbox = spawn('unshare', ['-Urm', 'sh', '-ec', shell])
  try {
    await expect.poll(() => execFileSync('ls', [base], { encoding: 'utf8' }), { timeout: 20_000 }).toContain('up')
    await expect(storage.snapshot(volume, snap(1))).rejects.toEqual(code('workspace_active'))
    await expect(storage.restore(volume, snap(1), snap(2))).rejects.toEqual(code('snapshot_not_found'))
  } finally {
    sandbox.kill('SIGKILL')
    await new Promise((resolve) => sandbox.once('exit', resolve))
  }
  expect(await storage.snapshot(volume, snap(1))).toMatchObject({ consistency: 'atomic' })
})
