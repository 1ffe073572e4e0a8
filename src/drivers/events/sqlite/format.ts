import { basename } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { EventType, NewEvent } from '../../../domain/log/event.ts'
import { makeId } from '../../../domain/ids.ts'
import type { Clock } from '../../../ports/clock.ts'
import { openDatabase, type Database } from './database.ts'
import { durableFile } from '../../../sys/fs/durable-file.ts'
import { append } from './append.ts'
import { migrations, type Migration } from './migrations.ts'
import { rebuild } from './rebuild.ts'
import { assertFormat, currentFormat, schema } from './schema.ts'

/** The format this program writes, and the way to it from older ones. */
export interface Formats {
  readonly current: number
  readonly migrations: readonly Migration[]
}

export const formats: Formats = { current: currentFormat, migrations }

export interface Home {
  readonly file: string
  readonly uid: number
  readonly clock: Clock
  readonly formats: Formats
}

/** A new file becomes a home, an older home one of this format; a newer one is refused. */
export async function prepareHome(database: Database, home: Home): Promise<void> {
  const { current } = home.formats
  const found = await database.reading(() => readFormat(database))
  if (found === undefined) await database.transaction(() => createUnlessThere(database, home))
  if (found !== undefined && found < current) await migrate(database, home)
  assertFormat(await database.reading(() => readFormat(database)), current)
}

function readFormat(database: Database): number | undefined {
  const tables = database.all("SELECT name FROM sqlite_schema WHERE type = 'table'").map((row) => row['name'])
  if (tables.length === 0) return undefined
  const row = tables.includes('meta') ? database.get("SELECT value FROM meta WHERE key = 'format'") : undefined
  if (row) return Number(row['value'])
  throw new AwError('log_damaged', 'The file of the log is a database of something else', {
    hint: 'Move it away, or choose another home',
  })
}

function createUnlessThere(database: Database, home: Home): void {
  if (readFormat(database) !== undefined) return
  const { current } = home.formats
  database.script(schema)
  database.run("INSERT INTO meta (key, value) VALUES ('format', ?)", String(current))
  const event = homeEvent(home.clock, 'home_created', { format: current, owner_uid: home.uid })
  append(database, current, 'home', 0, [event])
}

async function migrate(database: Database, home: Home): Promise<void> {
  const { current } = home.formats
  using reader = await openDatabase({ file: home.file, readOnly: true })
  await database.transaction(() => {
    const from = readFormat(database) ?? current
    if (from >= current) return
    // Nobody writes while this transaction lasts, so the backup is exactly what the migration begins with.
    const backup = backUp(reader, `${home.file}.format-${from}`)
    for (let format = from; format < current; format++) step(home.formats, format).up(database)
    rebuild(database)
    database.run("UPDATE meta SET value = ? WHERE key = 'format'", String(current))
    const { version } = database.get("SELECT version FROM streams WHERE stream = 'home'") ?? {}
    const event = homeEvent(home.clock, 'home_migrated', { from, to: current, backup: basename(backup) })
    append(database, current, 'home', Number(version ?? 0), [event])
  })
}

function step({ migrations: known, current }: Formats, from: number): Migration {
  const migration = known.find((candidate) => candidate.from === from)
  if (migration) return migration
  throw new AwError('home_version', `There is no way from format ${from} of the home to ${current}`, {
    hint: 'Open it once with an older version of aw',
    data: { format: from, supported: current },
  })
}

function backUp(reader: Database, file: string): string {
  const unfinished = `${file}.tmp`
  durableFile.remove(unfinished)
  reader.run('VACUUM INTO ?', unfinished)
  durableFile.rename(unfinished, file)
  return file
}

function homeEvent<T extends EventType>(clock: Clock, type: T, data: NewEvent<T>['data']): NewEvent {
  const now = clock.now()
  const id = (prefix: 'ev' | 'cor') => makeId(prefix, now.getTime(), clock.random(10))
  const meta = { actor: 'system', correlation_id: id('cor'), causation_id: null, operation: null }
  return { id: id('ev') as NewEvent['id'], at: now.toISOString(), type, data, meta }
}
