import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../aw.ts'
import { memoryCore } from '../testing/memory-core.ts'
import { makeAw, type Aw } from './facade.ts'

const code = (expected: string, about: object = {}): unknown => expect.objectContaining({ code: expected, ...about })

async function inMemory(): Promise<Aw> {
  const aw = makeAw(memoryCore().manager)
  await aw.create({ id: 'a' })
  return aw
}

it('a lease lasts 30 days at the most', async () => {
  const aw = await inMemory()
  const longest = 30 * 24 * 60 * 60 * 1000
  for (const ttl_ms of [9e15, longest + 1, 999])
    await expect(aw.lease.acquire('a', { holder: 'me', ttl_ms })).rejects.toEqual(code('invalid_input'))
  const lease = await aw.lease.acquire('a', { holder: 'me', ttl_ms: longest })
  await expect(aw.lease.renew('a', { lease: lease.id, ttl_ms: 9e15 })).rejects.toEqual(code('invalid_input'))
})

it.each(['in memory', 'on disk'])('%s: what comes after the end is told so', async (where) => {
  const folder = mkdtempSync(join(tmpdir(), 'aw-closed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const manager = where === 'in memory' ? memoryCore().manager : await openManager({ home: folder, env: {} })
  const aw = makeAw(manager)
  const workspace = await aw.create({ id: 'a' })
  await aw[Symbol.asyncDispose]()
  await aw[Symbol.asyncDispose]()
  const closed = code('invalid_state', { message: 'This aw is closed' })
  await expect(aw.list()).rejects.toEqual(closed)
  await expect(workspace.refresh()).rejects.toEqual(closed)
  expect(() => aw.events()).toThrow('This aw is closed')
})
