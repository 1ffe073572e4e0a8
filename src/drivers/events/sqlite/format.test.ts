import { readFileSync, readdirSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AwError } from '../../../domain/errors.ts'
import type { SnapshotId } from '../../../domain/ids.ts'
import { collect } from '../../../../test/support/collect.ts'
import { makeLogHome, type LogHome } from '../../../../test/support/log-home.ts'
import { creation, newId, sampleEvent } from '../../../../test/support/sample-events.ts'
import { formats as ours, type Formats } from './format.ts'
import { currentFormat } from './schema.ts'
import { sqliteEvents } from './sqlite.ts'

let home: LogHome

beforeEach(() => {
  home = makeLogHome()
})
afterEach(() => home.remove())

/** From outside, as another program would. */
function edit(sql: string): void {
  const database = new DatabaseSync(home.file)
  database.exec(sql)
  database.close()
}

/** One format later than today: a column more, to be filled from what is there. */
const tomorrow: Formats = {
  current: currentFormat + 1,
  migrations: [{ from: currentFormat, up: (database) => database.script('ALTER TABLE leases ADD COLUMN note TEXT') }],
}

/** From the stored format 0 to format 1, and on as the program itself does. */
const fromZero: Formats = {
  current: currentFormat,
  migrations: [
    {
      from: 0,
      up: (database) =>
        database.script(`
          ALTER TABLE events ADD COLUMN task TEXT;
          ALTER TABLE events ADD COLUMN agent TEXT;
          UPDATE events SET task = data ->> 'task_id', agent = data ->> 'agent_id';
          ALTER TABLE workspaces ADD COLUMN has_trash INTEGER NOT NULL DEFAULT 0;`),
    },
    ...ours.migrations,
  ],
}
const formatZero = readFileSync(new URL('../../../../test/samples/formats/0.sql', import.meta.url), 'utf8')

describe('a new home', () => {
  it('begins with the event of its creation', async () => {
    await using store = await sqliteEvents({ ...home, uid: statSync(home.folder).uid })
    const [first, ...rest] = await collect(store.follow())
    expect(rest).toEqual([])
    expect(first).toMatchObject({
      stream: 'home',
      version: 1,
      type: 'home_created',
      data: { format: currentFormat, owner_uid: statSync(home.folder).uid },
    })
  })

  it('is created once, however often it is opened', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, () => sqliteEvents(home)))
    for (const store of stores) expect(await collect(store.follow())).toHaveLength(1)
    for (const store of stores) await store[Symbol.asyncDispose]()
    await using again = await sqliteEvents(home)
    expect(await collect(again.follow())).toHaveLength(1)
  })

  it('is readable for its owner alone', async () => {
    await using store = await sqliteEvents(home)
    await store.append(newId('ws'), 0, [creation('a').intent])
    for (const name of readdirSync(home.folder)) {
      expect([name, statSync(`${home.folder}/${name}`).mode & 0o777]).toEqual([name, 0o600])
    }
  })
})

describe('a home of another', () => {
  it('is refused, root or not, with the way out and without a trace', async () => {
    await (await sqliteEvents(home))[Symbol.asyncDispose]()
    const owner = statSync(home.file).uid
    for (const uid of [owner + 1, owner + 2]) {
      const refused = await sqliteEvents({ ...home, uid }).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'home_owner_mismatch', data: { owner, uid } })
      expect(String((refused as AwError).hint)).toContain(`uid ${owner}`)
    }
    expect(readdirSync(home.folder).toSorted()).toEqual([basename(home.anchor), basename(home.file)])
  })

  it('is refused if it is a database of something else', async () => {
    edit('CREATE TABLE things (id INTEGER)')
    await expect(sqliteEvents(home)).rejects.toMatchObject({ code: 'log_damaged' })
  })
})

describe('a newer home', () => {
  it('is refused, with the way out', async () => {
    await (await sqliteEvents(home))[Symbol.asyncDispose]()
    edit(`UPDATE meta SET value = '${currentFormat + 1}' WHERE key = 'format'`)
    const refused = await sqliteEvents(home).catch((error: unknown) => error)
    const data = { format: currentFormat + 1, supported: currentFormat }
    expect(refused).toMatchObject({ code: 'home_version', data })
    expect((refused as AwError).hint).toContain('newer')
  })

  it('is refused also when it became newer while it was open', async () => {
    await using old = await sqliteEvents(home)
    await using _migrated = await sqliteEvents({ ...home, formats: tomorrow })
    const append = old.append(newId('ws'), 0, [creation('a').intent])
    await expect(append).rejects.toMatchObject({ code: 'home_version' })
  })
})

describe('an older home', () => {
  it('is migrated after a backup', async () => {
    edit(formatZero)
    await using store = await sqliteEvents({ ...home, formats: fromZero })
    const log = await collect(store.follow({ task: 'fix-login' }))
    expect(log.map(({ type }) => type)).toEqual(['workspace_create_started', 'workspace_created', 'workspace_labelled'])
    const backup = `${basename(home.file)}.format-0`
    const last = (await collect(store.read('home'))).at(-1)
    expect(last).toMatchObject({ type: 'home_migrated', data: { from: 0, to: currentFormat, backup } })
    expect(await store.rebuild()).toEqual({ workspaces: 1, changed: [] })
    const [workspace] = await store.list({ withTrash: false })
    expect(workspace).toMatchObject({ task: 'fix-login', labels: { stage: 'review' } })
    await store.append(workspace?.id ?? 'home', 3, [sampleEvent('workspace_labelled')])
    const { problems } = await store.verify()
    // It was written without an anchor.
    expect(problems.map(({ kind }) => kind)).toEqual(['anchor_mismatch'])
  })

  it('is kept as it was in the backup', async () => {
    edit(formatZero)
    await using _store = await sqliteEvents({ ...home, formats: fromZero })
    const database = new DatabaseSync(`${home.file}.format-0`, { readOnly: true })
    expect(database.prepare("SELECT value FROM meta WHERE key = 'format'").get()).toEqual({ value: '0' })
    expect(database.prepare('SELECT count(*) AS count FROM events').get()).toEqual({ count: 4 })
    database.close()
    expect(readdirSync(home.folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('of format 2 keeps its leases, whose holders were last active when they took them', async () => {
    const id = newId('ws')
    {
      await using store = await sqliteEvents(home)
      const times = { now: '2026-01-01T00:00:00.000Z', expiresAt: '2026-01-01T01:00:00.000Z' }
      await store.acquireLease(id, { id: 'ls_1', holder: 'ci', ...times })
      await store.touchLease(id, 'ls_1', '2026-01-01T00:30:00.000Z')
    }
    edit('ALTER TABLE leases DROP COLUMN active_at; DROP INDEX requested_runs')
    edit(`UPDATE meta SET value = '2' WHERE key = 'format'`)
    await using store = await sqliteEvents(home)
    expect(await store.lease(id)).toMatchObject({ id: 'ls_1', holder: 'ci', active_at: '2026-01-01T00:00:00.000Z' })
    expect(await store.touchLease(id, 'ls_1', '2026-01-01T00:40:00.000Z')).toBeDefined()
    expect((await store.verify()).problems).toEqual([])
  })

  it('of format 3 finds the runs that it has', async () => {
    const [id, run] = [newId('ws'), newId('run')]
    {
      await using store = await sqliteEvents(home)
      const { intent, outcome } = creation('a')
      const whose = { task_id: 'a', agent_id: 'main' }
      await store.append(id, 0, [intent, outcome, sampleEvent('run_requested', { data: { ...whose, run } })])
    }
    edit(`DROP INDEX requested_runs; UPDATE meta SET value = '3' WHERE key = 'format'`)
    await using store = await sqliteEvents(home)
    expect((await store.ofRun(run))?.id).toBe(id)
    expect((await store.verify()).problems).toEqual([])
  })

  it('of format 4 knows each of several restores that can be taken back', async () => {
    const id = newId('ws')
    const whose = { task_id: 'a', agent_id: 'main' }
    const to = (snapshot: SnapshotId, replaced: SnapshotId) =>
      sampleEvent('workspace_restored', { data: { ...whose, how: 'restore', snapshot, replaced, paths: null } })
    {
      await using store = await sqliteEvents(home)
      const { intent, outcome } = creation('a')
      await store.append(id, 0, [intent, outcome, to('snap_b', 'snap_c'), to('snap_a', 'snap_b')])
    }
    edit(
      `UPDATE workspaces SET data = json_set(data, '$.before', NULL); UPDATE meta SET value = '4' WHERE key = 'format'`,
    )
    await using store = await sqliteEvents(home)
    expect((await store.get(id))?.before).toMatchObject([{ snapshot: 'snap_b' }, { snapshot: 'snap_c' }])
    expect((await store.verify()).problems).toEqual([])
  })

  it('is left alone if the migration fails', async () => {
    edit(formatZero)
    const failing: Formats = {
      current: 1,
      migrations: [{ from: 0, up: (database) => database.script('DROP TABLE x') }],
    }
    await expect(sqliteEvents({ ...home, formats: failing })).rejects.toThrow('no such table')
    await expect(sqliteEvents({ ...home, formats: { current: 1, migrations: [] } })).rejects.toMatchObject({
      code: 'home_version',
    })
    await using store = await sqliteEvents({ ...home, formats: fromZero })
    expect(await store.list()).toHaveLength(1)
  })

  it('is migrated once, whoever opens it at the same time', async () => {
    edit(formatZero)
    const stores = await Promise.all(Array.from({ length: 4 }, () => sqliteEvents({ ...home, formats: fromZero })))
    for (const store of stores) expect(await collect(store.read('home'))).toHaveLength(2)
    for (const store of stores) await store[Symbol.asyncDispose]()
  })
})
