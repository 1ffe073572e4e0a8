/** Others look into a tree while it is frozen. As root, and as an ordinary user. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { Place, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { snap, subject, volume } from './fixture.ts'

const program = fileURLToPath(new URL('../../support/programs/overlay-reader.ts', import.meta.url))
const visitor = fileURLToPath(new URL('../../support/programs/overlay-visitor.ts', import.meta.url))
const rounds = 100
const isRoot = process.getuid?.() === 0

async function write(storage: StorageDriver, place: Place, name: string, content: string): Promise<void> {
  using tree = await storage.reach(place)
  fs.writeFileSync(join(tree.path, name), content)
}

const told = async (reader: ReturnType<typeof spawn>): Promise<{ looks: number; failed: string[] }> =>
  JSON.parse(reader.stdout === null ? '' : await text(reader.stdout)) as { looks: number; failed: string[] }

it(
  'each snapshot stays what it was, the tree is mounted once, and who looks finds it',
  { timeout: 300_000 },
  async () => {
    const { base, storage } = subject()
    await storage.create(volume)
    await write(storage, volume, 'always', 'there')
    const readers = [1, 2, 3].map(() =>
      spawn(process.execPath, [program, base, volume.name], { stdio: ['ignore', 'pipe', 'inherit'] }),
    )
    const answers = readers.map(told)
    const place = ` ${join(base, 'storage/volumes', volume.name)} `
    const mounts: number[] = []
    const said: string[] = []
    try {
      for (let i = 0; i < rounds; i++) {
        await write(storage, volume, 'state', String(i))
        said.push((await storage.snapshot(volume, snap(i))).mechanism)
        mounts.push(fs.readFileSync('/proc/self/mountinfo', 'utf8').split(place).length - 1)
      }
    } finally {
      fs.writeFileSync(join(base, 'stop'), '')
    }
    for (const { looks, failed } of await Promise.all(answers)) {
      expect(failed).toEqual([])
      expect(looks).toBeGreaterThan(0)
    }
    expect(Math.max(...mounts)).toBeLessThanOrEqual(1)
    await write(storage, volume, 'state', 'after')
    const states = Array.from({ length: rounds }, async (_, i) =>
      (await storage.read(snap(i), 'state', { maxBytes: 100 })).toString(),
    )
    expect(await Promise.all(states)).toEqual(Array.from({ length: rounds }, (_, i) => String(i)))
    // Else it was never taken off while they looked.
    expect(said).toContain('overlay freeze')
  },
)

/** A process that looks into the volume for a while. */
const visit = (base: string, patienceMs: number, stayMs: number) =>
  spawn(process.execPath, [visitor, base, volume.name, `${patienceMs}`, `${stayMs}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })

it('processes that look into one tree wait for each other for as long as the queue moves', async () => {
  const { base, storage } = subject()
  await storage.create(volume)
  await storage.snapshot(volume, snap(0))
  // Together they stay longer than any of them waits for one that does not leave.
  const answers = Array.from({ length: 8 }, () => visit(base, 2500, 600)).map(({ stdout }) => text(stdout))
  expect(await Promise.all(answers)).toEqual(Array.from(answers, () => 'there\n'))
  expect((await storage.read(volume, 'visits', { maxBytes: 100 })).toString()).toBe('xxxxxxxx')
})

it('a restore waits for a process that looks into the tree', async () => {
  const { base, storage } = subject()
  await storage.create(volume)
  await storage.snapshot(volume, snap(0))
  const { stdout } = visit(base, 10_000, isRoot ? 500 : 3000)
  await once(stdout, 'data')
  await storage.restore(volume, snap(0), snap(1))
  expect((await storage.read(snap(1), 'visits', { maxBytes: 100 })).toString()).toBe('x')
  await expect(storage.read(volume, 'visits', { maxBytes: 100 })).rejects.toMatchObject({ code: 'file_not_found' })
})
