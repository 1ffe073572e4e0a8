import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sqliteEvents } from '../../src/drivers/events/sqlite/sqlite.ts'
import { copyOf, forge, kinds, makeLog, tamper, verify, type StoredLog } from './log.ts'

let original: StoredLog
let log: StoredLog

beforeAll(async () => {
  original = await makeLog()
})
afterAll(() => original.remove())
beforeEach(() => {
  log = copyOf(original)
})
afterEach(() => log.remove())

const sealed = 3
const sealedLater = 7
const unsealed = 9

/** Removes records and everything that would tell of them but the checkpoints and the anchor. */
const cutFrom = (position: number): string => `
  DELETE FROM events WHERE position >= ${position};
  DELETE FROM workspaces;`

describe('an untouched log', () => {
  it('is intact', async () => {
    expect(await verify(log)).toEqual({
      intact: true,
      events: 9,
      streams: 3,
      checkpoint: log.checkpoints[1],
      unsealed: 2,
      anchor: 'checked',
      problems: [],
    })
  })

  it('has the hashes that another program computes', async () => {
    forge(log, 'forge-all')
    expect(await verify(log)).toMatchObject({ intact: true, checkpoint: log.checkpoints[1] })
    expect(readFileSync(log.anchor, 'utf8')).toBe(readFileSync(original.anchor, 'utf8'))
  })

  it.each(["UPDATE events SET at = ''", 'DELETE FROM events'])('refuses a well-meant edit: %s', (sql) => {
    const database = new DatabaseSync(log.file)
    expect(() => database.exec(sql)).toThrow('events never')
    database.close()
  })
})

describe('a changed record', () => {
  const changes: Record<string, string> = {
    position: '90 + position',
    id: "id || 'x'",
    stream: "'ws_00000000000000000000000000'",
    version: 'version + 10',
    at: "'2020-01-01T00:00:00.000Z'",
    type: "'workspace_lost'",
    schema: 'schema + 1',
    task: "'other'",
    agent: 'NULL',
    data: "json_set(data, '$.agent_id', 'intruder')",
    meta: "json_set(meta, '$.actor', 'user:0')",
    hash: 'lower(hex(randomblob(32)))',
  }

  it.each(Object.entries(changes))('is found by its %s, sealed or not', async (column, value) => {
    tamper(log, `UPDATE events SET ${column} = ${value} WHERE position = ${unsealed}`)
    expect(await verify(log)).toMatchObject({ intact: false, checkpoint: { number: 2 } })
    tamper(log, `UPDATE events SET ${column} = ${value} WHERE position = ${sealed}`)
    expect(await verify(log)).toMatchObject({ intact: false, checkpoint: null })
  })

  it('is named', async () => {
    tamper(log, `UPDATE events SET data = replace(data, '"n":"1"', '"n":"7"') WHERE position = ${sealedLater}`)
    const found = await verify(log)
    expect(found.checkpoint).toEqual(log.checkpoints[0])
    expect(found.problems[0]).toMatchObject({ kind: 'record_changed', stream: log.b, version: 3 })
  })

  it('is found when it is no longer JSON', async () => {
    tamper(log, `UPDATE events SET data = '{' WHERE position = ${unsealed}`)
    expect(kinds(await verify(log))).toContain('record_unreadable')
  })

  it('is found in a sealed part even if the whole chain is forged to fit', async () => {
    tamper(log, `UPDATE events SET meta = json_set(meta, '$.actor', 'user:0') WHERE position = ${sealed}`)
    forge(log)
    const found = await verify(log)
    expect(kinds(found)).toEqual(['checkpoint_mismatch'])
    expect(found.checkpoint).toBeNull()
  })

  it('is not found in the unsealed tail if the chain is forged to fit: that is what sealing is for', async () => {
    tamper(log, `UPDATE events SET meta = json_set(meta, '$.actor', 'user:0') WHERE position = ${unsealed}`)
    forge(log)
    expect(await verify(log)).toMatchObject({ intact: true, unsealed: 2 })
  })

  it('is told by a copy of the hash alone if checkpoints and anchor are forged too', async () => {
    tamper(log, `UPDATE events SET meta = json_set(meta, '$.actor', 'user:0') WHERE position = ${sealed}`)
    forge(log, 'forge-all')
    const found = await verify(log)
    expect(found).toMatchObject({ intact: true, checkpoint: { number: 2 } })
    expect(found.checkpoint?.hash).not.toBe(log.checkpoints[1]?.hash)
  })
})

describe('a removed record', () => {
  it.each([1, 2, 3, 6, 7, 8])('is found at position %i', async (position) => {
    tamper(log, `DELETE FROM events WHERE position = ${position}`)
    const found = await verify(log)
    expect(kinds(found)).toContain('record_missing')
    expect(found.checkpoint?.number ?? 0).toBe(position > 7 ? 2 : position > 6 ? 1 : 0)
  })

  it('is found when it is the last one and its head was left', async () => {
    tamper(log, `DELETE FROM events WHERE position = ${unsealed}`)
    expect(kinds(await verify(log))).toContain('head_mismatch')
  })

  it('is found when its whole stream went', async () => {
    tamper(log, `DELETE FROM events WHERE stream = '${log.a}'; DELETE FROM workspaces WHERE id = '${log.a}'`)
    forge(log)
    expect(kinds(await verify(log))).toEqual(['checkpoint_mismatch', 'record_missing'])
  })

  it('is found when those after it were moved up and the chain was forged', async () => {
    tamper(log, `DELETE FROM events WHERE position = 1; UPDATE events SET position = position - 1`)
    forge(log)
    expect(kinds(await verify(log))).toContain('checkpoint_mismatch')
  })
})

describe('an inserted record', () => {
  const copy = (position: number, version: number): string => `
    INSERT INTO events SELECT ${position}, 'ev_forged', stream, ${version}, at, type, schema, task, agent, data, meta, hash
    FROM events WHERE position = ${unsealed}`

  it('is found', async () => {
    tamper(log, copy(10, 5))
    expect(kinds(await verify(log))).toEqual(expect.arrayContaining(['head_mismatch', 'record_changed']))
  })

  it('is found with a version that is not there, and with one before the others', async () => {
    tamper(log, copy(10, 6))
    expect(kinds(await verify(log))).toContain('record_missing')
    tamper(log, `UPDATE events SET version = 0 WHERE position = 10`)
    expect(kinds(await verify(log))).toContain('record_changed')
  })

  it('is found in a sealed part even with the chain forged', async () => {
    tamper(
      log,
      `UPDATE events SET position = position + 100 WHERE position >= 7; ${copy(7, 99)};
      UPDATE events SET position = position - 99 WHERE position > 100;`.replace(
        `position = ${unsealed}`,
        'position = 109',
      ),
    )
    forge(log)
    expect(kinds(await verify(log))).toContain('checkpoint_mismatch')
  })

  it('is not found at the unsealed end with the chain forged: whoever can write the file can append', async () => {
    tamper(log, copy(10, 5))
    forge(log)
    expect(kinds(await verify(log))).toEqual(['read_model_mismatch'])
    const store = await sqliteEvents(log)
    await store.rebuild()
    await store[Symbol.asyncDispose]()
    expect(await verify(log)).toMatchObject({ intact: true, unsealed: 3 })
  })
})

describe('reordered records', () => {
  const swapPositions = (one: number, other: number): string => `
    UPDATE events SET position = -1 WHERE position = ${one};
    UPDATE events SET position = ${one} WHERE position = ${other};
    UPDATE events SET position = ${other} WHERE position = -1;`

  it('are found by their versions', async () => {
    tamper(
      log,
      `
      UPDATE events SET version = -1 WHERE position = 6;
      UPDATE events SET version = 3 WHERE position = 8;
      UPDATE events SET version = 4 WHERE position = 6;`,
    )
    const found = await verify(log)
    expect(found).toMatchObject({ intact: false, checkpoint: null })
    expect(kinds(found)).toEqual(expect.arrayContaining(['record_changed', 'record_missing']))
  })

  it('are found by their positions, also between streams', async () => {
    tamper(log, swapPositions(8, 9))
    const found = await verify(log)
    expect(found).toMatchObject({ intact: false, checkpoint: { number: 2 } })
    expect(kinds(found)).toEqual(['record_changed'])
    expect(found.problems).toHaveLength(2)
  })

  it('are found in a sealed part with the chain forged', async () => {
    tamper(log, swapPositions(6, 7))
    forge(log)
    expect(kinds(await verify(log))).toContain('checkpoint_mismatch')
  })
})

describe('a truncated log', () => {
  it('is found when sealed records went', async () => {
    tamper(log, cutFrom(7))
    forge(log)
    const found = await verify(log)
    expect(kinds(found)).toEqual(['checkpoint_mismatch', 'read_model_mismatch'])
    expect(found.checkpoint).toEqual(log.checkpoints[0])
  })

  it('is found by the anchor when their checkpoint went too', async () => {
    tamper(log, `${cutFrom(7)} DELETE FROM checkpoints WHERE number = 2`)
    forge(log)
    const found = await verify(log)
    expect(kinds(found)).toEqual(['anchor_mismatch', 'read_model_mismatch'])
    expect(found.problems.map(({ message }) => message)).toContainEqual(expect.stringContaining('"number":2'))
  })

  it('is found when a part of the unsealed tail went and the heads stayed', async () => {
    tamper(log, 'DELETE FROM events WHERE position >= 8')
    expect(kinds(await verify(log))).toEqual(['head_mismatch', 'read_model_mismatch'])
  })

  it('is not found when the unsealed tail went with its heads and the read model: nothing has sealed it', async () => {
    tamper(log, 'DELETE FROM events WHERE position >= 8')
    forge(log)
    const store = await sqliteEvents(log)
    await store.rebuild()
    expect(await store.verify()).toMatchObject({ intact: true, events: 7, unsealed: 0, checkpoint: { number: 2 } })
    await store[Symbol.asyncDispose]()
  })
})

describe('the heads', () => {
  it.each([
    ['a changed version', 'UPDATE streams SET version = version + 1'],
    ['a changed hash', "UPDATE streams SET hash = ''"],
    ['a removed head', "DELETE FROM streams WHERE stream = 'home'"],
    ['a head of nothing', "INSERT INTO streams VALUES ('ws_x', 1, '')"],
  ])('tell of %s', async (_what, sql) => {
    tamper(log, sql)
    expect(kinds(await verify(log))).toEqual(['head_mismatch'])
  })
})

describe('a checkpoint', () => {
  it.each([
    ['number', 'number + 10'],
    ['at', "'2020-01-01T00:00:00.000Z'"],
    ['position', 'position - 1'],
    ['events', 'events + 1'],
    ['hash', 'lower(hex(randomblob(32)))'],
  ])('is found by its %s', async (column, value) => {
    tamper(log, `UPDATE checkpoints SET ${column} = ${value} WHERE number = 2`)
    const found = await verify(log)
    expect(kinds(found)).toEqual(['anchor_mismatch', 'checkpoint_mismatch'])
    expect(found.checkpoint).toEqual(log.checkpoints[0])
  })

  it('is missed when it was removed', async () => {
    tamper(log, 'DELETE FROM checkpoints WHERE number = 1')
    expect(kinds(await verify(log))).toEqual(['anchor_mismatch', 'checkpoint_mismatch'])
    tamper(log, 'DELETE FROM checkpoints')
    expect(await verify(log)).toMatchObject({ intact: false, checkpoint: null, unsealed: 9 })
  })

  it('is found when it was added', async () => {
    tamper(log, "INSERT INTO checkpoints VALUES (3, '', 9, 9, '')")
    expect(await verify(log)).toMatchObject({ intact: false, checkpoint: { number: 2 } })
  })
})

describe('the anchor', () => {
  const lines = (): string[] => readFileSync(log.anchor, 'utf8').split('\n').filter(Boolean)
  const write = (...text: string[]): void => writeFileSync(log.anchor, text.map((line) => `${line}\n`).join(''))

  it('has one line of JSON for each checkpoint', () => {
    expect(lines().map((line) => JSON.parse(line) as unknown)).toEqual(log.checkpoints)
  })

  it.each(['number', 'at', 'position', 'events', 'hash'])('is found edited by its %s', async (field) => {
    const [first = '', second = ''] = lines()
    const edited = JSON.stringify({ ...(JSON.parse(second) as object), [field]: 0 })
    write(first, edited)
    expect(kinds(await verify(log))).toEqual(['anchor_mismatch'])
    write(JSON.stringify({ ...(JSON.parse(first) as object), [field]: 0 }), second)
    expect(kinds(await verify(log))).toEqual(['anchor_mismatch'])
  })

  it('is found with a line too few, too many, or that is none', async () => {
    const [first = '', second = ''] = lines()
    for (const text of [[second], [first, second, second.replace('"number":2', '"number":3')], [first, 'x', second]]) {
      write(...text)
      expect(await verify(log)).toMatchObject({ intact: false, anchor: 'checked' })
    }
  })

  it('is completed when a crash left it behind, whole line or half', async () => {
    const [first = '', second = ''] = lines()
    for (const text of [`${first}\n`, `${first}\n${second.slice(0, 20)}`, `${first}\n${second}`, '']) {
      writeFileSync(log.anchor, text)
      expect(await verify(log)).toMatchObject({ intact: true, anchor: 'checked' })
      expect(lines()).toEqual([first, second])
    }
  })

  it('is missed when it was removed, also after the next checkpoint', async () => {
    rmSync(log.anchor)
    expect(await verify(log)).toMatchObject({ intact: false, anchor: 'missing' })
    const store = await sqliteEvents(log)
    await store.seal('2026-01-03T00:00:00.000Z')
    await store[Symbol.asyncDispose]()
    const found = await verify(log)
    expect(found).toMatchObject({ intact: false, anchor: 'checked' })
    expect(found.problems.map(({ message }) => message)).toEqual([
      'Checkpoint 1 is not in the anchor',
      'Checkpoint 2 is not in the anchor',
    ])
  })

  it('tells that the log was exchanged for an empty one', async () => {
    for (const file of [log.file, `${log.file}-wal`, `${log.file}-shm`]) rmSync(file, { force: true })
    const found = await verify(log)
    expect(found.events).toBe(1)
    expect(kinds(found)).toEqual(['anchor_mismatch'])
  })
})

describe('the read model', () => {
  it.each([
    ['task', "'other'"],
    ['agent', "'other'"],
    ['state', "'purged'"],
    ['live', '0'],
    ['created_at', "'2020-01-01T00:00:00.000Z'"],
    ['updated_at', "'2020-01-01T00:00:00.000Z'"],
    ['version', 'version + 1'],
    ['in_operation', '1'],
    ['has_trash', '1'],
    ['labels', "'{}'"],
    ['data', "json_set(data, '$.state', 'purged')"],
  ])('is found edited by its %s, and is made anew', async (column, value) => {
    tamper(log, `UPDATE workspaces SET ${column} = ${value} WHERE id = '${log.a}'`)
    const found = await verify(log)
    expect(found.problems).toMatchObject([{ kind: 'read_model_mismatch', stream: log.a }])
    await expectRebuilt([log.a])
  })

  it('is found with a row too few or too many', async () => {
    tamper(log, `UPDATE workspaces SET id = 'ws_x' WHERE id = '${log.a}'`)
    const found = await verify(log)
    expect(new Set(found.problems.map(({ stream }) => stream))).toEqual(new Set([log.a, 'ws_x']))
    await expectRebuilt([log.a, 'ws_x'])
  })

  it('is made anew when names were exchanged', async () => {
    tamper(
      log,
      `
      UPDATE workspaces SET task = 'c' WHERE id = '${log.a}';
      UPDATE workspaces SET task = 'a' WHERE id = '${log.b}';
      UPDATE workspaces SET task = 'b' WHERE id = '${log.a}';`,
    )
    await expectRebuilt([log.a, log.b])
  })

  async function expectRebuilt(changed: readonly string[]): Promise<void> {
    await using store = await sqliteEvents(log)
    expect(await store.rebuild()).toEqual({ workspaces: 2, changed: changed.toSorted() })
    expect(await store.verify()).toMatchObject({ intact: true })
  }
})
