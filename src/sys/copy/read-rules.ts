import * as fs from 'node:fs'
import { resolve } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { ReadRules } from '../../domain/sources/folder-rules.ts'
import { gitFileTarget } from '../../domain/git/link.ts'
import { hasCode } from '../syscalls/errno.ts'
import { readNamed } from './read-named.ts'
import { at, directoryFlags, namingFlags } from '../safe-fs/descriptors.ts'
import { openFrom } from '../safe-fs/directory-stack.ts'

/** More is no list of patterns that somebody has written. */
const maxBytes = 1024 * 1024
/** An index has some hundred bytes for each file. */
const maxOfIndex = 512 * 1024 * 1024

/**
 * Reads lists of patterns of a directory, name by name and without following a link, as git does. There is no index: of
 * a tree that agents write to, it says what they like.
 */
export const readRules =
  (directory: number): ReadRules =>
  (path) =>
    isIndex.test(path) ? undefined : reading(directory, path, (names) => openFrom(directory, names))

/** The same of a directory of a user's folder, with the index; a `.git` that is a file is gone after. */
export const readUserRules =
  (directory: number): ReadRules =>
  (path) =>
    reading(directory, path, (names) => openGit(directory, names) ?? openFrom(directory, names))

const isIndex = /(?:^|\/)(?:shared)?index(?:\.|$)/

function reading(directory: number, path: string, open: (names: readonly string[]) => number): string | undefined {
  const names = path.split('/')
  const file = names.pop() ?? ''
  try {
    const holder = open(names)
    try {
      return readText(holder, file)
    } finally {
      if (holder !== directory) fs.closeSync(holder)
    }
  } catch (error) {
    // There is none that can be read; one that may not be is reported with the other files.
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'ENAMETOOLONG')) return undefined
    throw error
  }
}

/** Undefined if it is not about `.git`, or that is no file that names another directory. */
function openGit(directory: number, [first, ...names]: readonly string[]): number | undefined {
  if (first !== '.git' || !fs.lstatSync(at(directory, first)).isFile()) return undefined
  const named = gitFileTarget(readText(directory, first) ?? '')
  if (named === undefined) return undefined
  const path = resolve(fs.readlinkSync(at(directory), 'latin1'), named)
  const repository = fs.openSync(Buffer.from(path, 'latin1'), directoryFlags)
  if (names.length === 0) return repository
  try {
    return openFrom(repository, names)
  } finally {
    fs.closeSync(repository)
  }
}

function readText(directory: number, name: string): string | undefined {
  const named = fs.openSync(at(directory, name), namingFlags)
  try {
    const stat = fs.fstatSync(named)
    if (!stat.isFile()) return undefined
    const [most, what] = isIndex.test(name) ? [maxOfIndex, 'an index of git'] : [maxBytes, 'a list of patterns']
    if (stat.size <= most) return readNamed(named, stat.size)
    throw new AwError('source_failed', `The folder has ${what} of more than ${most} bytes: ${name}`, {
      hint: 'Make it shorter, or copy the ignored files too',
      data: { name },
    })
  } finally {
    fs.closeSync(named)
  }
}
