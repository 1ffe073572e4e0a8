import { closeSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { syncPath } from '../fs/directories.ts'
import { hostFs } from '../fs/host-fs.ts'

/** A settings file of the user's own, as it was when it was read. */
export interface UserFile {
  /** Where it really is. */
  readonly path: string
  /** It was named by a link, or lies in a directory that is one. */
  readonly linked: boolean
  /** Undefined if there is none yet. */
  readonly text: string | undefined
  readonly mode: number
}

interface Options {
  /** Links may lead anywhere in the user's own files; with this, nowhere out of here. */
  readonly within?: string | undefined
  /** Of a file that is made. */
  readonly mode: number
}

const maxBytes = 16 * 1024 * 1024

/** `permission_denied` for a file, or a place for one, that is not this user's. */
export function readUserFile(path: string, { within, mode }: Options): UserFile {
  const real = realPathOf(path)
  if (within !== undefined && !real.startsWith(realpathSync.native(within) + sep))
    throw denied(path, `is a link that leads out of ${within}, to ${real}`)
  const linked = [path, dirname(path)].some((name) => lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink())
  const directory = existing(dirname(real))
  if (!isOwn(statSync(directory))) throw denied(path, `lies in ${directory}, which belongs to somebody else`)
  const found = lstatSync(real, { throwIfNoEntry: false })
  if (found === undefined) return { path: real, linked, text: undefined, mode }
  if (!isOwn(found)) throw denied(path, 'belongs to somebody else')
  if (!found.isFile() || found.size > maxBytes) throw denied(path, 'is not a file that settings could be in')
  return { path: real, linked, text: decoded(path, readFileSync(real)), mode: found.mode & 0o7777 }
}

/**
 * Whole or not at all, with the mode it had. `version_conflict` if somebody has changed it since it was read.
 */
export function replaceUserFile(file: UserFile, text: string): void {
  const directory = dirname(file.path)
  makeDirectory(directory)
  const fresh = join(directory, `.${basename(file.path)}.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`)
  const fd = hostFs.createSync(fresh, 0o600)
  try {
    try {
      hostFs.writeSync(fd, Buffer.from(text))
      hostFs.fchmodSync(fd, file.mode)
      hostFs.fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    assertUnchanged(file)
    hostFs.renameSync(fresh, file.path)
  } catch (error) {
    hostFs.unlinkSync(fresh)
    throw error
  }
  syncPath(directory)
}

function assertUnchanged({ path, text }: UserFile): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  const now = found === undefined ? undefined : readFileSync(path, 'utf8')
  if (now === text) return
  throw new AwError('version_conflict', `${path} was changed by somebody else at the same time`, {
    hint: 'Nothing was written; run the command again',
    data: { path },
  })
}

function makeDirectory(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false }) !== undefined) return
  makeDirectory(dirname(directory))
  hostFs.mkdirSync(directory)
}

/** Of what is not there yet: where it would come to be. */
function realPathOf(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return leadsTo(path)
  const above = dirname(path)
  return above === path ? path : join(realPathOf(above), basename(path))
}

function leadsTo(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    throw new AwError('permission_denied', `${path} is a link that leads nowhere`, {
      hint: 'Remove it, or make what it leads to',
      data: { path },
      cause: error,
    })
  }
}

const existing = (path: string): string =>
  statSync(path, { throwIfNoEntry: false }) === undefined ? existing(dirname(path)) : path

const isOwn = ({ uid }: { uid: number }): boolean => uid === process.geteuid?.()

function decoded(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw denied(path, 'is not text')
  }
}

const denied = (path: string, why: string): AwError =>
  new AwError('permission_denied', `${path} ${why}`, { hint: 'Nothing was changed', data: { path } })
