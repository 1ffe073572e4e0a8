/** A client that goes away in the middle: what it asked for is undone, and the log says so. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { checkHome } from '../crash/check.ts'
import { killableHome, until } from './killable.ts'
import { checkOrder, eventsOf } from './client-record.ts'

/** So many that nothing is done with all of them before a client could leave. */
const files = 4_000

test('whoever leaves in the middle of create, fork or snapshot has asked for nothing', async () => {
  await using home = killableHome()
  const daemon = await home.serve()
  const manager = home.client()
  const big = join(home.at.folder, 'big')
  for (let i = 0; i < files; i++) {
    if (i % 500 === 0) mkdirSync(join(big, `d${i / 500}`), { recursive: true })
    writeFileSync(join(big, `d${Math.floor(i / 500)}`, `f${i}`), `${i}`)
  }
  const from = { folder: big }
  await manager.call('create', { id: 'big', from })
  const { socket } = daemon
  const bigId = (await manager.call('show', { id: 'big' })).id

  // Each can be over before anybody can leave: then it is whole, and another one is asked for.
  const untilUndone = async (once: (attempt: number) => Promise<boolean>): Promise<void> => {
    for (let attempt = 0; !(await once(attempt)); attempt++) expect(attempt).toBeLessThan(10)
  }
  const isMade = async (id: string, events: readonly Outputs['events'][]): Promise<boolean> => {
    const last = events.at(-1)
    expect(last?.type).toBeOneOf(['workspace_cleanup', 'workspace_created'])
    const exists = last?.type === 'workspace_created'
    expect(await manager.call('exists', { id })).toEqual({ exists })
    if (!exists) expect(last).toMatchObject({ data: { cleanup_reason: 'failed_create' } })
    return exists
  }
  await untilUndone(async (attempt) => {
    const id = `left-create-${attempt}`
    return !(await isMade(id, await leftIn(manager, socket, 'workspace_create_started', 'workspaces', { id, from })))
  })
  await untilUndone(async (attempt) => {
    const to = [`left-fork-${attempt}`]
    const route = 'workspaces/big/fork'
    return !(await isMade(to[0] ?? '', await leftIn(manager, socket, 'workspace_create_started', route, { to })))
  })
  await untilUndone(async (attempt) => {
    for (let i = 0; i < 500; i++)
      await manager.call('fs write', { id: bigId, path: `work/d0/f${i}`, content: Buffer.from(`${attempt} ${i}`) })
    const kept = (await manager.call('snapshots', { id: bigId })).length
    const label = `left-${attempt}`
    const taken = await leftIn(manager, socket, 'snapshot_started', 'workspaces/big/snapshots', { label })
    const last = taken.at(-1)
    expect(last?.type).toBeOneOf(['operation_abandoned', 'snapshot_created'])
    const isUndone = last?.type === 'operation_abandoned'
    if (isUndone) expect(last).toMatchObject({ data: { operation: 'snapshot', code: 'aborted' } })
    expect(await manager.call('snapshots', { id: bigId })).toHaveLength(isUndone ? kept : kept + 1)
    return isUndone
  })

  checkOrder(await eventsOf(manager))
  await checkHome(home.home, manager)
})

/** Asks, leaves when the log says that it has begun, and answers what became of it: the events of that operation. */
async function leftIn(
  manager: Manager,
  path: string,
  begin: string,
  route: string,
  body: object,
): Promise<Outputs['events'][]> {
  const known = await eventsOf(manager)
  // It is heard of at once, whatever else the machine does: to ask again and again could be too late. And it is heard of
  // though the other connection may be faster.
  const after = known.at(-1)?.position ?? 0
  const begun = manager.stream('events', { type: [begin], follow: true, after })[Symbol.asyncIterator]()
  const socket = connect({ path })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const text = JSON.stringify(body)
  const next = begun.next()
  socket.write(
    `POST /api/${route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  )
  const { value: first } = (await next) as IteratorYieldResult<Outputs['events']>
  socket.destroy()
  await begun.return?.()
  const news = async (): Promise<Outputs['events'][]> => (await eventsOf(manager)).slice(known.length)
  const own = async (): Promise<Outputs['events'][]> => (await news()).filter(({ stream }) => stream === first.stream)
  await until('it is over', async () => {
    const { operation } = await manager.call('show', { id: first.stream })
    return operation === null
  })
  return own()
}
