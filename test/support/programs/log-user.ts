/**
 * One process among several that use one log.
 *   log-user.ts claim FOLDER LIMIT     waits for a line, then tries to get one of LIMIT places
 *   log-user.ts reserve FOLDER MB      the same, for 10 of MB megabytes
 *   log-user.ts write FOLDER COUNT     appends, and prints each event's id once it is acknowledged
 *   log-user.ts follow FOLDER COUNT    prints the positions it is shown until there were COUNT of them
 *   log-user.ts story FOLDER           a short life of a store: create, append, seal; prints as `write` does
 *   log-user.ts hold FOLDER            holds the log's write lock until it is killed
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { sqliteEvents } from '../../../src/drivers/events/sqlite/sqlite.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import type { AppendLimits, EventStore } from '../../../src/ports/event-store.ts'
import { openDatabase } from '../../../src/drivers/events/sqlite/database.ts'
import { systemClock } from '../log-home.ts'
import { creation, newId, sampleData, sampleEvent } from '../sample-events.ts'

const [mode, folder = '', count = '0'] = process.argv.slice(2)
const file = join(folder, 'log.db')

if (mode === 'hold') await hold()
else await use()

async function use(): Promise<void> {
  await using store = await sqliteEvents({ file, anchor: join(folder, 'log.anchor'), clock: systemClock })
  if (mode === 'claim') await claim(store, { maxWorkspaces: Number(count) })
  if (mode === 'reserve') await claim(store, { space: { storeMb: Number(count) } })
  if (mode === 'write') await write(store, Number(count))
  if (mode === 'follow') await follow(store, Number(count))
  if (mode === 'story') await story(store)
}

async function claim(store: EventStore, limits: AppendLimits): Promise<void> {
  console.log('ready')
  await once(process.stdin, 'data')
  process.stdin.destroy()
  const config = { ...sampleData.workspace_create_started.config, max_size_mb: 10 }
  const { intent } = creation(`task-${process.pid}`, 'main', { config })
  const tried = store.append(newId('ws'), 0, [intent], { limits })
  console.log(
    await tried.then(
      () => 'got a place',
      (error: unknown) => toAwError(error).code,
    ),
  )
}

async function write(store: EventStore, events: number): Promise<void> {
  const id = newId('ws')
  const first = creation(`task-${process.pid}`).intent
  for (let version = 0; version < events; version++) {
    const event = version === 0 ? first : sampleEvent('workspace_labelled', { data: { labels: { n: `${version}` } } })
    await store.append(id, version, [event])
    console.log(event.id)
  }
}

async function follow(store: EventStore, events: number): Promise<void> {
  const stop = new AbortController()
  let seen = 0
  console.log('following')
  for await (const event of store.follow({
    live: stop.signal,
    types: ['workspace_create_started', 'workspace_labelled'],
  })) {
    console.log(`${event.position} ${event.stream} ${event.version}`)
    if (++seen === events) stop.abort()
  }
}

async function story(store: EventStore): Promise<void> {
  const id = newId('ws')
  const { intent, outcome } = creation(`task-${process.pid}`)
  await store.append(id, 0, [intent])
  console.log(intent.id)
  await store.seal(new Date().toISOString())
  await store.append(id, 1, [outcome])
  console.log(outcome.id)
  await store.seal(new Date().toISOString())
  console.log('the end')
}

async function hold(): Promise<void> {
  const database = await openDatabase({ file })
  database.script('BEGIN IMMEDIATE')
  console.log('holding')
  setInterval(() => database.isOpen, 60_000)
}
