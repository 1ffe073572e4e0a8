import * as fs from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import { directoryFlags } from '../safe-fs/descriptors.ts'
import { refusal } from '../safe-fs/errors.ts'
import { atBytes } from './names.ts'
import { decodeStat } from './stat.ts'
import { openIfUnchanged } from './unlock.ts'
import { visitPaths } from './walk.ts'

interface Reading {
  readonly maxBytes: number
  readonly link?: boolean | undefined
}

/** A regular file of a tree, whole, or what a link says. The path is bytes (latin1); no link is followed. */
export function readInTree(tree: string, path: string, { maxBytes, link = false }: Reading): Buffer {
  // Names alone: nothing that would lead upwards, or away.
  if (path.split('/').some((name) => ['', '.', '..'].includes(name) || name.includes('\0')))
    throw new AwError('invalid_path', `Not a path in a tree: ${JSON.stringify(path)}`, { data: { path } })
  const top = fs.openSync(tree, directoryFlags)
  try {
    for (const { directory, name, print } of visitPaths(top, [path])) {
      const { kind, size } = decodeStat(print)
      if (kind !== (link ? 'symlink' : 'file')) throw refusal('not_a_file', path)
      if (size > maxBytes) throw tooLarge(path, size, maxBytes)
      if (link) return fs.readlinkSync(atBytes(directory, name), { encoding: 'buffer' })
      const fd = openIfUnchanged(directory, name, print)
      if (fd === undefined) break
      try {
        return readWhole(fd, path, maxBytes)
      } finally {
        fs.closeSync(fd)
      }
    }
    throw refusal('file_not_found', path)
  } finally {
    fs.closeSync(top)
  }
}

/** It may have grown since it was looked at. */
function readWhole(fd: number, path: string, maxBytes: number): Buffer {
  const { size } = fs.fstatSync(fd)
  if (size > maxBytes) throw tooLarge(path, size, maxBytes)
  const bytes = Buffer.alloc(size)
  let done = 0
  while (done < size) {
    const got = fs.readSync(fd, bytes, done, size - done, done)
    if (got === 0) break
    done += got
  }
  return bytes.subarray(0, done)
}

const tooLarge = (path: string, size: number, maxBytes: number): AwError =>
  new AwError('file_too_large', `The file has ${size} bytes, more than the ${maxBytes} that are accepted`, {
    hint: 'Ask for more bytes, or look at it in a workspace made from the snapshot',
    data: { path, size, maxBytes },
  })
