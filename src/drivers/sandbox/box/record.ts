import { closeSync, fsyncSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { Isolation, Limits, Network } from '../../../domain/sandbox/spec.ts'
import type { Owner } from '../../../domain/workspace/state.ts'
import type { Plan } from '../../../ports/sandbox-driver.ts'
import { assertOwned, ensureDirectory, syncDirectory } from '../../../sys/fs/directories.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { isOwnerAlive } from './temporary-files.ts'

/**
 * What is known of a box outside of it, in a directory of its own: `record.json` is written before anything of it is
 * made and says what there may be to clean up; `owner.json` when its supervisor has been started, and again when the box
 * stands: its last whole line counts. None of it outlives the machine's next start, or needs to.
 */
export interface BoxRecord {
  readonly isolation: Isolation
  readonly plan: Plan
  /** Its path and which object is there: another one at the same path is not what the box shows. Null if unseen here. */
  readonly tree: { readonly path: string; readonly identity: string | null }
  /** Where commands find the tree. */
  readonly inside: string
  /** Where a file for them is put, as they see it. */
  readonly files: string
  readonly network: Network['mode']
  /** What every command gets. */
  readonly env: Readonly<Record<string, string>>
  readonly limits: Limits
  /** How many resources of the kernel each process may have. */
  readonly rlimits: Readonly<Record<string, number>>
  /** Names that were made to be mounted on, and below what: the tree, or the upper layer of one that is not seen here. */
  readonly placeholders: readonly Placeholder[]
  readonly mountedIn: { readonly path: string; readonly identity: string | null }
  /** Directories of its cgroups. */
  readonly cgroups: readonly string[]
  /** Its supervisor measures the tree. */
  readonly sized?: boolean | undefined
  /** It ends when whoever started it lets go of it. */
  readonly once: boolean
}

export interface Placeholder {
  readonly path: string
  readonly kind: 'directory' | 'file'
}

/** Its supervisor first, then the box's first processes. */
export interface BoxOwners {
  readonly supervisor: Owner
  readonly inside: readonly Owner[]
}

/** The directory that holds the boxes' directories: ours, and for nobody else. */
export function ensureRunDirectory(run: string): void {
  ensureDirectory(run, 0o700)
  assertOwned(run, 'directory for sandboxes')
}

export function boxDirectory(run: string, name: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(name)) return join(run, name)
  throw new AwError('invalid_name', `A sandbox cannot be called ${JSON.stringify(name)}`)
}

/** Those that have left a trace. What begins with a dot is ours too and no box; nor is what somebody is about to make. */
export const boxNames = (run: string): string[] =>
  lstatSync(run, { throwIfNoEntry: false }) === undefined
    ? []
    : readdirSync(run).filter((name) => !name.startsWith('.') && !isOwnerAlive(name))

/** @param durable something outside the directory is going to be made that only this tells of */
export function writeRecord(directory: string, record: BoxRecord, durable: boolean): void {
  const fd = hostFs.createSync(join(directory, 'record.json'), 0o600)
  try {
    hostFs.writeSync(fd, line(record))
    if (durable) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  if (durable) syncDirectory(directory)
}

/** To be told of them, once or more. */
export interface OwnersFile extends Disposable {
  write(owners: BoxOwners): void
}

export function ownersFile(directory: string): OwnersFile {
  const fd = hostFs.createSync(join(directory, 'owner.json'), 0o600)
  return { write: (owners) => hostFs.writeSync(fd, line(owners)), [Symbol.dispose]: () => closeSync(fd) }
}

const line = (content: unknown): Buffer => Buffer.from(`${JSON.stringify(content)}\n`)

/** Undefined if there is none, or a crash has left no whole one: then nothing was made yet. */
export const readRecord = (directory: string): BoxRecord | undefined =>
  read(join(directory, 'record.json')) as BoxRecord | undefined

export const readOwners = (directory: string): BoxOwners | undefined =>
  read(join(directory, 'owner.json')) as BoxOwners | undefined

/** Left by a supervisor that ended its box because the tree was over its size limit. */
export const overLimitFile = 'over-limit'

export const wasOverLimit = (directory: string): boolean =>
  lstatSync(join(directory, overLimitFile), { throwIfNoEntry: false }) !== undefined

/** Its last whole line: one that was cut short is as if it were not there. */
function read(file: string): unknown {
  for (const text of (readIfPresent(file) ?? '').split('\n').toReversed()) {
    if (text === '') continue
    try {
      return JSON.parse(text)
    } catch {
      // The one before.
    }
  }
  return undefined
}
