import { checkpointHash, emptyHead, noHash, recordHash, type Head, type LogRecord } from '../../domain/log/chain.ts'
import { decode } from '../../domain/log/upcast.ts'
import { evolve } from '../../domain/workspace/evolve.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Checkpoint, Verification, VerificationProblem } from '../../ports/event-store.ts'
import { anchorDifferences } from './anchor.ts'

/** Verifies a log record by record, in the order of positions, from what is stored and nothing else. */
export interface Auditor {
  record(record: LogRecord): void
  /** The store itself cannot read its file. */
  unreadable(message: string): void
  finish(rest: AuditRest): Verification
}

export interface AuditRest {
  /** The heads as the store keeps them. */
  readonly heads: ReadonlyMap<string, Head>
  /** The anchor's text; `undefined` if the file is absent, `null` for a store without one. */
  readonly anchor: string | undefined | null
  readonly readModel: { readonly ids: readonly string[]; matches: (workspace: Workspace) => boolean }
}

export function auditor(checkpoints: readonly Checkpoint[]): Auditor {
  const problems: VerificationProblem[] = []
  const problem = (kind: VerificationProblem['kind'], message: string, record?: { stream: string; version?: number }) =>
    void problems.push({ kind, stream: record?.stream ?? null, version: record?.version ?? null, message })

  const heads = new Map<string, Head>()
  let sinceCheckpoint = new Map<string, Head>()
  const folds = new Map<string, Workspace | undefined>()
  let position = 0
  let events = 0
  let passed = 0
  let verified: Checkpoint | null = null

  function record(found: LogRecord): void {
    passCheckpoints(found.position)
    const { stream, version } = found
    const before = heads.get(stream) ?? emptyHead
    if (found.position !== position + 1)
      problem('record_missing', missing('position', position + 1, found.position - 1))
    if (version > before.version + 1) {
      problem('record_missing', missing('version', before.version + 1, version - 1), {
        stream,
        version: before.version + 1,
      })
    } else if (version !== before.version + 1) {
      problem('record_changed', `It follows version ${before.version}`, found)
    } else if (recordHash(before.hash, found) !== found.hash) {
      problem('record_changed', 'Its hash is not that of its content and of the record before it', found)
    }
    read(found)
    heads.set(stream, { version, hash: found.hash })
    sinceCheckpoint.set(stream, { version, hash: found.hash })
    position = found.position
    events += 1
  }

  function read(found: LogRecord): void {
    const event = tryTo(() => decode(found))
    if (event === undefined) {
      problem('record_unreadable', 'Its content cannot be read', found)
      return
    }
    const whose = event.data as { task_id?: unknown; agent_id?: unknown }
    if ((whose.task_id ?? null) !== found.task || (whose.agent_id ?? null) !== found.agent) {
      problem('record_changed', 'Its task and agent columns are not those of its data', found)
    }
    if (found.stream === 'home') return
    // Content that no version of aw wrote may be JSON and still make no sense to the fold.
    const fold = tryTo(() => ({ after: evolve(folds.get(found.stream), event) }))
    if (fold === undefined) problem('record_unreadable', 'Its content makes no sense', found)
    else folds.set(found.stream, fold.after)
  }

  /** Compares the checkpoints that lie before a position. */
  function passCheckpoints(before: number): void {
    for (let next = checkpoints[passed]; next && next.position < before; next = checkpoints[passed]) {
      const previous = checkpoints[passed - 1]
      const matches =
        next.number === passed + 1 &&
        next.position === position &&
        next.events === events &&
        next.hash === checkpointHash(previous?.hash ?? noHash, next, sinceCheckpoint)
      if (!matches) problem('checkpoint_mismatch', `Checkpoint ${next.number} does not seal what the log holds`)
      if (problems.length === 0) verified = next
      sinceCheckpoint = new Map()
      passed += 1
    }
  }

  function compareHeads(stored: ReadonlyMap<string, Head>): void {
    for (const [stream, { version, hash }] of stored) {
      const head = heads.get(stream) ?? emptyHead
      if (head.version === version && head.hash === hash) continue
      problem('head_mismatch', `Its head says version ${version}, its last record is ${head.version}`, {
        stream,
        version,
      })
    }
    for (const [stream, { version }] of heads) {
      if (!stored.has(stream)) problem('head_mismatch', 'It has records and no head', { stream, version })
    }
  }

  function compareAnchor(text: string | undefined | null): Verification['anchor'] {
    if (text === null) return 'none'
    if (text === undefined && checkpoints.length > 0) {
      problem('anchor_mismatch', 'The anchor file is missing')
      return 'missing'
    }
    for (const difference of anchorDifferences(text ?? '', checkpoints)) problem('anchor_mismatch', difference)
    return checkpoints.length > 0 ? 'checked' : 'none'
  }

  function compareReadModel({ ids, matches }: AuditRest['readModel']): void {
    const known = new Set(ids)
    for (const [stream, workspace] of folds) {
      const same = workspace === undefined ? !known.has(stream) : known.has(stream) && matches(workspace)
      if (!same) problem('read_model_mismatch', 'The read model is not the fold of its events', { stream })
    }
    for (const id of ids) {
      if (!folds.has(id)) problem('read_model_mismatch', 'The read model has it and the log does not', { stream: id })
    }
  }

  return {
    record,
    unreadable: (message) => problem('record_unreadable', message),
    finish(rest) {
      passCheckpoints(Infinity)
      compareHeads(rest.heads)
      const anchor = compareAnchor(rest.anchor)
      compareReadModel(rest.readModel)
      return {
        intact: problems.length === 0,
        events,
        streams: heads.size,
        checkpoint: verified,
        unsealed: events - (verified?.events ?? 0),
        anchor,
        problems,
      }
    },
  }
}

function tryTo<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

const missing = (what: string, first: number, last: number): string =>
  first === last ? `There is no ${what} ${first}` : `There are no ${what}s ${first} to ${last}`
