import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'

/** The text of a small file of the user; undefined if there is none, or it is not one. */
export function readUserFile(path: string): string | undefined {
  const fd = ignoreErrors(['ENOENT', 'ENOTDIR', 'EACCES', 'ENXIO'], () =>
    openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
  )
  if (fd === undefined) return undefined
  try {
    const stats = fstatSync(fd)
    return stats.isFile() && stats.size <= maxBytes ? readFileSync(fd, 'utf8') : undefined
  } finally {
    closeSync(fd)
  }
}

const maxBytes = 1024 * 1024

/** The files of a directory that end with `.json`, by name; none if there is no such directory. */
export function jsonFilesIn(directory: string): { name: string; file: string; content: unknown }[] {
  const names = ignoreErrors(['ENOENT', 'ENOTDIR'], () => readdirSync(directory)) ?? []
  return names
    .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
    .toSorted()
    .map((name) => {
      const file = join(directory, name)
      return { name: name.slice(0, -'.json'.length), file, content: parsed(file) }
    })
}

/** One that is broken is told when it is asked for: the others are none the worse. */
function parsed(file: string): unknown {
  try {
    return JSON.parse(readUserFile(file) ?? '')
  } catch (error) {
    return new AwError('invalid_config', `${file} is not JSON: ${(error as Error).message}`, {
      hint: 'Mend it, or take it away',
      data: { file },
    })
  }
}
