import { growingIntents } from '../../../domain/log/append-rules.ts'
import { AwError } from '../../../domain/errors.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { EventStore } from '../../../ports/event-store.ts'
import { openDatabase, type Database } from './database.ts'
import { durableFile, fileFacts } from '../../../sys/fs/durable-file.ts'
import type { Reserve } from '../../../sys/fs/reserve.ts'
import { append } from './append.ts'
import { anchorIsBehind, anchorText, completeAnchor, seal } from './checkpoints.ts'
import { sqliteFeed } from './follow.ts'
import { formats as ourFormats, prepareHome, type Formats } from './format.ts'
import { latestTime, recordedLatestTime, recordLatestTime } from './latest-time.ts'
import { sqliteLeases } from './leases.ts'
import { findWorkspace, getWorkspace, listWorkspaces, streamVersion, workspaceOfRun } from './read-model.ts'
import { rebuild } from './rebuild.ts'
import { lastPosition, readStream } from './records.ts'
import { verify } from './verify.ts'

export interface SqliteEventsOptions {
  /** The database. Its directory exists and belongs to the caller. */
  readonly file: string
  /** The anchor file; without one, checkpoints are in the database alone. */
  readonly anchor?: string | undefined
  readonly clock: Clock
  /** How long other processes may hold the log and write nothing before `log_busy`; 30 s. */
  readonly patienceMs?: number | undefined
  /** Whose home it must be; the process's own uid. */
  readonly uid?: number | undefined
  /** What to give up when the disk is full; then only what makes nothing new may go on. */
  readonly reserve?: Reserve | undefined
  readonly formats?: Formats | undefined
  /** See `openDatabase`. */
  readonly shortLived?: boolean | undefined
}

/** The log in one SQLite file, shared by any number of processes of one user. */
export async function sqliteEvents(options: SqliteEventsOptions): Promise<EventStore> {
  const { file, anchor, clock, patienceMs, reserve, uid = process.getuid?.() ?? 0, formats = ourFormats } = options
  assertOwner(file, uid)
  durableFile.create(file)
  if (anchor !== undefined && fileFacts(file)?.bytes === 0) durableFile.create(anchor)
  const database = await openDatabase({ file, patienceMs, reserve, shortLived: options.shortLived })
  try {
    await prepareHome(database, { file, uid, clock, formats })
    const behind = anchor !== undefined && (await database.reading(() => anchorIsBehind(database, anchor)))
    if (behind && !database.isCramped) await database.transaction(() => completeAnchor(database, anchor))
  } catch (error) {
    database[Symbol.dispose]()
    throw error
  }
  const openReader = (): Promise<Database> => openDatabase({ file, patienceMs, readOnly: true })
  const feed = sqliteFeed(openReader)

  return {
    name: 'sqlite',
    async append(stream, expected, events, { limits, signal, later } = {}) {
      const grows = events.some(({ type }) => growingIntents.has(type))
      if (grows && reserve?.keep() === false) throw spaceIsLow()
      const work = () => append(database, formats.current, stream, expected, events, limits)
      const result = await database.transaction(work, { signal, grows, later })
      feed.wake()
      return result
    },
    flushed: () => database.flushed(),
    read: (stream, { after = 0, types } = {}) => readStream(database, stream, after, types),
    follow: (choice = {}) => feed.follow(choice),
    position: () => database.reading(() => lastPosition(database)),
    version: (stream) => database.reading(() => streamVersion(database, stream)),
    get: (id) => database.reading(() => getWorkspace(database, id)),
    find: (task, agent) => database.reading(() => findWorkspace(database, task, agent)),
    ofRun: (run) => database.reading(() => workspaceOfRun(database, run)),
    list: (filter = {}) => database.reading(() => listWorkspaces(database, filter)),
    ...sqliteLeases(database),
    latest: () => database.reading(() => latestTime(database)),
    async passed(at) {
      const noted = await database.reading(() => recordedLatestTime(database))
      if (at > noted) await database.transaction(() => recordLatestTime(database, at))
    },
    async seal(at) {
      const checkpoint = await database.transaction(() => seal(database, at))
      if (checkpoint && anchor !== undefined) await database.transaction(() => completeAnchor(database, anchor))
      return checkpoint
    },
    async verify({ signal } = {}) {
      using reader = await openReader()
      const begin = () => {
        reader.script('BEGIN; SELECT count(*) FROM sqlite_schema')
        return anchor === undefined ? null : anchorText(database, anchor)
      }
      // An anchor that is read while a checkpoint is made could have it before the reader sees it.
      const text = await (database.isCramped ? database.reading(begin) : database.transaction(begin, { signal }))
      return await verify(reader, text, signal)
    },
    rebuild: () => database.transaction(() => rebuild(database)),
    async [Symbol.asyncDispose]() {
      await feed[Symbol.asyncDispose]()
      database[Symbol.dispose]()
    },
  }
}

const spaceIsLow = (): AwError =>
  new AwError('disk_full', 'There is too little space on the disk of the home to make something new', {
    hint: 'Make room, for instance with aw destroy --purge; how much aw keeps free to work with is space.reserve_mb',
  })

/** Another user, root included, would leave files beside the log that its owner cannot write. */
function assertOwner(file: string, uid: number): void {
  const owner = fileFacts(file)?.uid ?? uid
  if (owner === uid) return
  throw new AwError('home_owner_mismatch', `The home belongs to uid ${owner}; this process is uid ${uid}`, {
    hint: `Run aw as uid ${owner}, or choose a home of your own with AW_HOME`,
    data: { owner, uid },
  })
}
