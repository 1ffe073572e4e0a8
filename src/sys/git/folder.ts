import * as fs from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import { hasCode, ignoreErrors } from '../syscalls/errno.ts'
import { at, directoryFlags, readFlags } from '../safe-fs/descriptors.ts'

/**
 * A directory that somebody else writes to, open: what is in it is found from its descriptor, one name at a time. No
 * link is followed, only regular files are opened, and a name can be swapped only for what lies in the same directory.
 * Names are bytes, as latin1 text.
 */
export interface Folder extends Disposable {
  readonly fd: number
  /** Undefined if there is none; `source_failed` if a link or a file is in its place. */
  folder(path: string): Folder | undefined
  /** Its descriptor, for reading; undefined if there is no such file, `source_failed` if it is something else. */
  open(path: string): number | undefined
  /** Its content; undefined if there is no such file. */
  read(path: string, maxBytes?: number): Buffer | undefined
  /** Whether there is something of that name, whatever it is. */
  has(path: string): boolean
  /** What a link says; undefined if it is none. */
  link(name: string): string | undefined
  /** Directly in it; nothing if it is not there. */
  names(path?: string): { readonly name: string; readonly directory: boolean }[]
}

export function openFolder(path: string): Folder {
  return folderOf(fs.openSync(path, directoryFlags))
}

function folderOf(fd: number): Folder {
  const folder = (path: string): Folder | undefined => {
    const opened = descend(fd, path.split('/'))
    return opened === undefined ? undefined : folderOf(opened)
  }
  const open = (path: string): number | undefined =>
    inParent(fd, path, (parent, name) => {
      const file = opening(at(parent, bytes(name)), path, readFlags | fs.constants.O_NOFOLLOW)
      if (file === undefined || fs.fstatSync(file).isFile()) return file
      fs.closeSync(file)
      throw odd(path)
    })
  return {
    fd,
    folder,
    open,
    read(path, maxBytes = 64 * 1024 * 1024) {
      const file = open(path)
      if (file === undefined) return undefined
      try {
        if (fs.fstatSync(file).size > maxBytes) throw odd(path, 'is too large')
        return fs.readFileSync(file)
      } finally {
        fs.closeSync(file)
      }
    },
    has: (path) =>
      ignoreErrors(['ENOENT', 'ENOTDIR'], () => fs.lstatSync(at(fd, bytes(path)), { throwIfNoEntry: false })) !==
      undefined,
    link(name) {
      const path = at(fd, bytes(name))
      if (!fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
      return ignoreErrors(['EINVAL', 'ENOENT'], () => fs.readlinkSync(path, 'latin1'))
    },
    names(path = '') {
      if (path === '') return namesIn(fd)
      using found = folder(path)
      return found === undefined ? [] : namesIn(found.fd)
    },
    [Symbol.dispose]: () => fs.closeSync(fd),
  }
}

function namesIn(fd: number): { name: string; directory: boolean }[] {
  const entries = fs.readdirSync(at(fd), { withFileTypes: true, encoding: 'buffer' })
  return entries.map((entry) => ({ name: entry.name.toString('latin1'), directory: entry.isDirectory() }))
}

const bytes = (name: string): Buffer => Buffer.from(name, 'latin1')

function inParent<T>(fd: number, path: string, use: (parent: number, name: string) => T): T | undefined {
  const names = path.split('/')
  const name = names.pop() ?? ''
  if (names.length === 0) return use(fd, name)
  const parent = descend(fd, names)
  if (parent === undefined) return undefined
  try {
    return use(parent, name)
  } finally {
    fs.closeSync(parent)
  }
}

/** A descriptor of its own for what the names lead to. */
function descend(fd: number, names: readonly string[]): number | undefined {
  let here: number | undefined
  for (const name of names) {
    const from: number = here ?? fd
    try {
      here = opening(at(from, bytes(name)), name, directoryFlags)
    } finally {
      if (from !== fd) fs.closeSync(from)
    }
    if (here === undefined) return undefined
  }
  return here
}

/** What is often not there is looked for first: an error costs more than all the rest. */
function opening(file: string | Buffer, path: string, flags: number): number | undefined {
  try {
    if (fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) return undefined
    return fs.openSync(file, flags)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENAMETOOLONG')) return undefined
    if (hasCode(error, 'ELOOP', 'ENOTDIR', 'ENXIO', 'EISDIR')) throw odd(path)
    throw error
  }
}

const odd = (path: string, what = 'is a link, or not the file or directory that it should be'): AwError =>
  new AwError('source_failed', `The repository cannot be read safely: ${JSON.stringify(path)} in it ${what}`, {
    hint: 'Give the path of a repository that git has made, not one that is put together from links',
  })
