import * as fs from 'node:fs'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { calls, mountsOf, namespaceOf, processes } from '../../../../sys/fs/mounts.ts'

/**
 * Whether a file system, as `deviceOf` tells it, is mounted at one place only, in whatever namespace. Newer kernels (6.12)
 * name all namespaces, also those without a process; else those of all processes are looked at.
 */
export function isMountedOnce(device: string): boolean {
  if (mountsOn(device) !== 1) return false
  const others = otherNamespaces()
  if (others !== undefined) return others.every((namespace) => mountsOn(device, namespace) === 0)
  const seen = new Set([namespaceOf('self')])
  for (const process of processes()) {
    const namespace = namespaceOf(process)
    if (namespace === undefined || seen.has(namespace)) continue
    seen.add(namespace)
    if (mountsOf(process)?.some((mount) => mount.device === device)) return false
  }
  return true
}

/** How many mounts of a file system a namespace has, ours if none is given. The text that has all takes ten times as long. */
function mountsOn(device: string, namespace = 0n): number {
  const ids = mountIds(namespace)
  if (ids === undefined) return (mountsOf('self') ?? []).filter((mount) => mount.device === device).length
  const told = Buffer.alloc(512)
  const isOnIt = (id: bigint): boolean =>
    calls().statmount(id, told, namespace) && `${told.readUInt32LE(16)}:${told.readUInt32LE(20)}` === device
  return ids.filter(isOnIt).length
}

/** Undefined where the kernel has no such list: before 6.8. None of a namespace that has gone. */
function mountIds(namespace: bigint): bigint[] | undefined {
  const some = new BigUint64Array(512)
  const all: bigint[] = []
  try {
    for (;;) {
      const count = calls().listmount(all.at(-1) ?? 0n, some, namespace)
      all.push(...some.subarray(0, count))
      if (count < some.length) return all
    }
  } catch (error) {
    if (namespace !== 0n && hasCode(error, 'ENOENT')) return []
    if (namespace === 0n && hasCode(error, 'ENOSYS', 'EPERM', 'EINVAL')) return undefined
    throw error
  }
}

const next = 0x8010_b70b
const previous = 0x8010_b70c

/** The mount namespaces but our own, as the kernel counts them; undefined if it does not tell, or not to us. */
function otherNamespaces(): bigint[] | undefined {
  try {
    return [...namespacesTowards(next), ...namespacesTowards(previous)]
  } catch (error) {
    if (hasCode(error, 'ENOTTY', 'EPERM', 'EINVAL')) return undefined
    throw error
  }
}

function namespacesTowards(request: number): bigint[] {
  const found: bigint[] = []
  let fd = fs.openSync('/proc/self/ns/mnt', 'r')
  try {
    for (;;) {
      const about = Buffer.alloc(16)
      about.writeUInt32LE(about.length, 0)
      const other = calls().ioctl(fd, request, about)
      fs.closeSync(fd)
      fd = other
      found.push(about.readBigUInt64LE(8))
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return found
    throw error
  } finally {
    fs.closeSync(fd)
  }
}
