import * as fs from 'node:fs'
import { AwError } from '../domain/errors.ts'
import type { ReadRules } from '../domain/folder-rules.ts'
import { hasCode } from './errno.ts'
import { readNamed } from './read-named.ts'
import { at, namingFlags } from './safe-fs/descriptors.ts'
import { openFrom } from './safe-fs/levels.ts'

/** More is no list of patterns that somebody has written. */
const mostBytes = 1024 * 1024

/** Reads files of a source folder's directory, name by name and without following a link, as git does. */
export const readRules =
  (directory: number): ReadRules =>
  (path) => {
    const names = path.split('/')
    const file = names.pop() ?? ''
    try {
      const holder = openFrom(directory, names)
      try {
        return readText(holder, file)
      } finally {
        if (holder !== directory) fs.closeSync(holder)
      }
    } catch (error) {
      // There is none that can be read; one that may not be is reported with the other files.
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO')) return undefined
      throw error
    }
  }

function readText(directory: number, name: string): string | undefined {
  const named = fs.openSync(at(directory, name), namingFlags)
  try {
    const stat = fs.fstatSync(named)
    if (!stat.isFile()) return undefined
    if (stat.size <= mostBytes) return readNamed(named, mostBytes)
    throw new AwError('source_failed', `The folder has a list of patterns of more than ${mostBytes} bytes: ${name}`, {
      hint: 'Make it shorter, or copy the ignored files too',
      data: { name },
    })
  } finally {
    fs.closeSync(named)
  }
}
