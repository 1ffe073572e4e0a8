import { spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileStamp, maxSocketPathBytes, socketName } from '../../domain/daemon.ts'
import { assertOwned } from '../fs/directories.ts'
import { tryLock, type HeldLock } from '../locks/lock.ts'

/** What a daemon leaves in its home for others to find it. */

export const daemonSocketPath = (home: string): string => join(home, socketName)

/**
 * The same socket by a name that is short enough. A home may have a longer path than an address has room for; then the
 * way leads over a descriptor of the home, which stays open.
 */
export function shortSocketPath(socket: string): string {
  if (Buffer.byteLength(socket) <= maxSocketPathBytes) return socket
  const fd = openSync(dirname(socket), constants.O_RDONLY | constants.O_DIRECTORY)
  return `/proc/self/fd/${fd}/${socketName}`
}

/** One daemon a home: undefined if there is another. */
export const lockDaemon = (home: string): HeldLock | undefined => tryLock(join(home, 'locks', 'daemon'))

/** Nobody but the owner of the home may reach the socket. One that a dead daemon left is in the way; we hold its lock. */
export function clearSocket(home: string): void {
  assertOwned(home, 'home')
  removeSocket(home)
}

export const restrictSocket = (home: string): void => chmodSync(daemonSocketPath(home), 0o600)

/** What tells the socket that is there from any other; undefined if there is nothing. */
export function socketIdentity(home: string): string | undefined {
  const found = lstatSync(daemonSocketPath(home), { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.ino}-${found.birthtimeMs}`
}

export const removeSocket = (home: string): void => rmSync(daemonSocketPath(home), { force: true })

export const stampOfPath = (file: string | undefined): string =>
  fileStamp(file === undefined ? undefined : statSync(file, { throwIfNoEntry: false }))

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

export const daemonLogPath = (home: string): string => join(home, 'daemon.log')

/**
 * A log that this process writes to and that has grown long begins anew; what it held is beside it, in the place of what
 * was kept there before. True if it did. It stays the same file, as it is this process's standard error.
 */
export function rotateLog(log: string, mostBytes = 16 * 2 ** 20): boolean {
  const standardError = 2
  const [own, there] = [fstatSync(standardError), lstatSync(log, { throwIfNoEntry: false })]
  if (there === undefined || there.ino !== own.ino || there.dev !== own.dev || own.size <= mostBytes) return false
  copyFileSync(log, `${log}.1`)
  ftruncateSync(standardError, 0)
  return true
}

/** The last line that a daemon wrote. */
export const logTail = (log: string): string => readFileSync(log, 'utf8').trimEnd().split('\n').at(-1) ?? ''
