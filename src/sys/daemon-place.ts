import { spawn } from 'node:child_process'
import { chmodSync, closeSync, constants, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stampOfFile } from '../domain/file-stamp.ts'
import { assertOurs } from './directories.ts'
import { tryLock, type HeldLock } from './lock.ts'

/** What a daemon leaves in its home for others to find it. */

const socketName = 'aw.sock'
/** More does not fit into the address of a socket. */
const longestPath = 107

export const socketOf = (home: string): string => join(home, socketName)

/**
 * The same socket by a name that is short enough. A home may have a longer path than an address has room for; then the
 * way leads over a descriptor of the home, which stays open.
 */
export function reachable(socket: string): string {
  if (Buffer.byteLength(socket) <= longestPath) return socket
  const fd = openSync(dirname(socket), constants.O_RDONLY | constants.O_DIRECTORY)
  return `/proc/self/fd/${fd}/${socketName}`
}

/** One daemon a home: undefined if there is another. */
export const takeHome = (home: string): HeldLock | undefined => tryLock(join(home, 'locks', 'daemon'))

/** Nobody but the owner of the home may reach the socket. One that a dead daemon left is in the way; we hold its lock. */
export function clearSocket(home: string): void {
  assertOurs(home, 'home')
  rmSync(socketOf(home), { force: true })
}

export const closeToOthers = (home: string): void => chmodSync(socketOf(home), 0o600)

export interface DaemonRecord {
  readonly pid: number
  readonly version: string
  readonly started_at: string
  readonly socket: string
  readonly listen: string | null
}

const recordOf = (home: string): string => join(home, 'daemon.json')

export function writeRecord(home: string, record: DaemonRecord): void {
  writeFileSync(recordOf(home), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

export function readRecord(home: string): DaemonRecord | undefined {
  try {
    return JSON.parse(readFileSync(recordOf(home), 'utf8')) as DaemonRecord
  } catch {
    return undefined
  }
}

export function removeTraces(home: string): void {
  for (const file of [recordOf(home), socketOf(home)]) rmSync(file, { force: true })
}

export const stampOf = (file: string | undefined): string =>
  stampOfFile(file === undefined ? undefined : statSync(file, { throwIfNoEntry: false }))

/** Starts a program that outlives this one; what it says goes to the end of a file. */
export function startDetached(argv: readonly string[], log: string): { readonly hasEnded: () => boolean } {
  const [program = '', ...args] = argv
  const out = openSync(log, 'a', 0o600)
  try {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', out, out] })
    child.on('error', () => undefined)
    child.unref()
    return { hasEnded: () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null }
  } finally {
    closeSync(out)
  }
}

/** The last line that a daemon wrote. */
export const logTail = (log: string): string => readFileSync(log, 'utf8').trimEnd().split('\n').at(-1) ?? ''
