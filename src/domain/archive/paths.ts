import type { ArchiveLimits } from './limits.ts'
import { archiveRefused, overLimit } from './refusals.ts'

/**
 * The name of an entry as a path from the top, `.` for the top itself. What could lead anywhere else is refused, and the
 * archive with it: nobody makes such names by accident. Slashes and dots that mean nothing are left out.
 */
export function archivePath(name: string, limits: Pick<ArchiveLimits, 'pathBytes' | 'depth'>): string {
  if (name === '') throw archiveRefused('path', 'an entry of it has no name')
  if (name.includes('\0')) throw archiveRefused('path', 'a name in it holds a NUL byte', name)
  if (name.startsWith('/')) throw archiveRefused('path', 'a path in it is absolute', name)
  if (name.length > limits.pathBytes)
    throw overLimit('pathBytes', limits.pathBytes, `holds a path of ${name.length} bytes`)
  const names = isPlain(name) ? name.split('/') : name.split('/').filter((one) => one !== '' && one !== '.')
  if (names.includes('..')) throw archiveRefused('path', 'a path in it climbs with ".."', name)
  if (names.length > limits.depth)
    throw overLimit('depth', limits.depth, `holds a path that is ${names.length} names deep`)
  if (names.some((one) => one.length > 255)) throw archiveRefused('path', 'a name in it is too long for a file', name)
  return names.join('/') || '.'
}

const isPlain = (name: string): boolean => !/(^|\/)\.?(\/|$)/.test(name)
