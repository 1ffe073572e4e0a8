import { fstatSync, openSync } from 'node:fs'
import { AwError } from '../../../../domain/errors.ts'
import { quotePath } from '../../../../domain/paths.ts'
import { at, namingFlags, O_PATH } from '../../../../sys/safe-fs/descriptors.ts'
import { translate } from '../../../../sys/safe-fs/errors.ts'
import type { BoxMount } from './bwrap.ts'
import type { Tag } from '../frames.ts'
import type { Handles } from '../handles.ts'
import type { BoxUser } from './user.ts'

/**
 * How a box comes by what is mounted in it. Always the object that is open here, whatever has its path by then: as an
 * ordinary user by its descriptor; as root, whose directories the box's user cannot enter, by a stage on which the
 * supervisor binds it if it is still that object.
 */
export interface MountSources {
  /**
   * @param fd stays the caller's
   * @param name on the stage, where it matters
   */
  add(fd: number, path: string, name?: string): BoxMount['source']
  readonly tags: readonly Tag[]
}

export function byDescriptor(held: Handles): MountSources {
  const tags: Tag[] = []
  return {
    tags,
    add(fd) {
      const descriptor = held.add(openSync(at(fd), O_PATH))
      tags.push(['H', descriptor])
      return { descriptor }
    },
  }
}

export function byStage(stage: string, user: BoxUser): MountSources {
  const tags: Tag[] = [['g', stage]]
  return {
    tags,
    add(fd, path, name = `m${tags.length}`) {
      const { dev, ino, uid } = fstatSync(fd, { bigint: true })
      tags.push(['b', `${dev}:${ino}:${user.mapOf(Number(uid))}:${name}:${path}`])
      return { path: `${stage}/${name}` }
    },
  }
}

/** Opens what is to be bound, for its name only; a link is refused. The caller closes it. */
export function openSource(path: string): number {
  let fd: number
  try {
    fd = openSync(path, namingFlags)
  } catch (error) {
    throw translate(error, path)
  }
  const stats = fstatSync(fd)
  if (stats.isDirectory() || stats.isFile()) return fd
  throw new AwError('invalid_input', `${quotePath(path)} is neither a file nor a directory`, { data: { path } })
}
