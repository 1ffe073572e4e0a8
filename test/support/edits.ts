import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'

/** Something an agent does in its tree. Paths as in `Tree`; a parent that is no real directory makes it fail. */
export type Edit =
  /** Makes the file, or puts other content into the one that is there: also under its other names. */
  | { readonly do: 'write' | 'append'; readonly path: string; readonly content: string }
  /** Other content of the same length, and the time of modification, in whole seconds, put back. */
  | { readonly do: 'forge'; readonly path: string; readonly content: string }
  | { readonly do: 'truncate'; readonly path: string; readonly size: number }
  | { readonly do: 'mkdir' | 'fifo'; readonly path: string }
  /** With all that is in it. */
  | { readonly do: 'remove'; readonly path: string }
  /** Replaces a file by a file, an empty directory by a directory. */
  | { readonly do: 'rename'; readonly path: string; readonly to: string }
  /** Gives the file `to` another name. */
  | { readonly do: 'link'; readonly path: string; readonly to: string }
  | { readonly do: 'symlink'; readonly path: string; readonly target: string }
  | { readonly do: 'chmod'; readonly path: string; readonly mode: number }
  /** Only the time of modification, in seconds. */
  | { readonly do: 'touch'; readonly path: string; readonly mtime: number }

/** Does it below a directory of the host, as a program of the agent would. */
export function editHost(root: string, edit: Edit): void {
  const at = below(root, edit.path)
  switch (edit.do) {
    case 'write':
    case 'append':
      return write(at, edit.content, edit.do === 'append' ? fs.constants.O_APPEND : fs.constants.O_TRUNC)
    case 'forge': {
      const { atime, mtime, size } = assertKind(at, 'file')
      if (size !== edit.content.length) throw new Error(`${edit.path} has ${size} bytes`)
      write(at, edit.content, 0)
      return fs.utimesSync(at, atime, mtime)
    }
    case 'truncate':
      assertKind(at, 'file')
      return fs.truncateSync(at, edit.size)
    case 'mkdir':
      fs.mkdirSync(at)
      return fs.chmodSync(at, 0o755)
    case 'fifo':
      execFileSync('mkfifo', ['-m', '644', at.toString()])
      return
    case 'remove':
      fs.lstatSync(at)
      return fs.rmSync(at, { recursive: true })
    case 'rename':
      return rename(at, below(root, edit.to))
    case 'link':
      assertKind(below(root, edit.to), 'file')
      return fs.linkSync(below(root, edit.to), at)
    case 'symlink':
      return fs.symlinkSync(Buffer.from(edit.target, 'latin1'), at)
    case 'chmod':
      assertKind(at, 'file or directory')
      return fs.chmodSync(at, edit.mode)
    default:
      assertKind(at, 'file or directory')
      return fs.utimesSync(at, edit.mtime, edit.mtime)
  }
}

function below(root: string, path: string): Buffer {
  const names = path.split('/')
  for (let depth = 1; depth < names.length; depth++)
    assertKind(bytes(root, names.slice(0, depth).join('/')), 'directory')
  return bytes(root, path)
}

/** Where the file system cannot, as `mv` does it. */
function rename(from: Buffer, to: Buffer): void {
  try {
    fs.renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    execFileSync('mv', ['-T', from.toString(), to.toString()])
  }
}

const bytes = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')])

function write(at: Buffer, content: string, flag: number): void {
  const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = fs.constants
  const isNew = fs.lstatSync(at, { throwIfNoEntry: false }) === undefined
  if (!isNew) assertKind(at, 'file')
  const fd = fs.openSync(at, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | flag)
  try {
    fs.writeSync(fd, Buffer.from(content, 'latin1'))
    if (isNew) fs.fchmodSync(fd, 0o644)
  } finally {
    fs.closeSync(fd)
  }
}

function assertKind(at: Buffer, kind: 'file' | 'directory' | 'file or directory'): fs.Stats {
  const stat = fs.lstatSync(at)
  const fits = (kind !== 'directory' && stat.isFile()) || (kind !== 'file' && stat.isDirectory())
  if (!fits) throw new Error(`${at.toString('latin1')} is no ${kind}`)
  return stat
}
