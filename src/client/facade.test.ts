import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../aw.ts'
import { memoryCore } from '../../test/memory/core.ts'
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

it.each([
  ['actor', 'a\nb'],
  ['actor', ''],
  ['actor', 'x'.repeat(201)],
  ['actor', 7],
  ['correlationId', '\u0000'],
  ['causationId', {}],
  ['causationId', '\ud800'],
  ['signal', { aborted: false }],
  ['onProgress', 'yes'],
  ['acter', 'me'],
])('a context with %s = %j is refused', async (field, value) => {
  const aw = await inMemory()
  const context = { [field]: value } as never
  const refused = code('invalid_input', { data: { field: `context.${field}` } })
  await expect(aw.label('a', { labels: { b: 'c' } }, context)).rejects.toEqual(refused)
  await expect(aw.create({ id: 'b' }, context)).rejects.toEqual(refused)
  expect(() => aw.events({}, context)).toThrow(/context of the call/)
})

it('a whole context goes into the events', async () => {
  const aw = await inMemory()
  const context = { actor: 'user:é', correlationId: 'x'.repeat(200), causationId: 'ev_1' }
  await aw.label('a', { labels: {} }, { ...context, signal: AbortSignal.timeout(10_000), onProgress: () => undefined })
  const events = []
  for await (const event of aw.events()) events.push(event)
  const meta = { actor: context.actor, correlation_id: context.correlationId, causation_id: 'ev_1' }
  expect(events.at(-1)?.meta).toMatchObject(meta)
})

it('a workspace has 64 labels at the most', async () => {
  const aw = await inMemory()
  const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'x']))
  const refused = code('invalid_input', { data: { field: 'labels', count: 65, limit: 64 } })
  await expect(aw.create({ id: 'b', labels: labels(65) })).rejects.toEqual(refused)
  await aw.label('a', { labels: labels(64) })
  await expect(aw.label('a', { labels: { another: 'x' } })).rejects.toEqual(refused)
  await aw.label('a', { labels: { another: 'x' }, remove: ['l0'] })
})

it('what is kept in events is small; documents are not in them', async () => {
  const aw = await inMemory()
  const config = { git_config: { user_name: 'x'.repeat(70_000) } }
  const refused = code('invalid_input', { message: expect.stringMatching(/65536 are the most/) as unknown })
  await expect(aw.create({ id: 'b', config })).rejects.toEqual(refused)
  expect(await aw.exists('b')).toMatchObject({ exists: false })
  await aw.create({ id: 'b', config: { claude_md: 'x'.repeat(100_000) } })
})
