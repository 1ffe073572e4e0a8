import { closeSync, openSync, readdirSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { mountsOf, namespaceOf, type Mounted } from '../fs/mounts.ts'
import { native } from '../syscalls/native.ts'
import { attempt, kernelThreads, read, readLink, statOf } from './process.ts'
import { directoryFlags, mountId } from '../safe-fs/descriptors.ts'

export interface ProcessUse {
  readonly pid: number
  readonly command: string
  readonly uses: 'cwd' | 'root' | 'file' | 'mount'
  /** It is a process of aw's; see `sign`. */
  readonly own?: true
}

interface UseOptions {
  /** Processes that do not count, nor does what they have started. */
  readonly except?: readonly number[] | undefined
  /** Also those that have it mounted in a mount namespace of their own, whatever they do there. */
  readonly mounted?: boolean | undefined
  /** A file that every process of aw has open as long as it works on a home. */
  readonly sign?: string | undefined
}

/**
 * Processes, other than this one, with their working directory, root or an open file below a directory, by whatever
 * mount and in whatever mount namespace they have it. Of those that we may not look into nothing is known.
 */
export function processesUsing(path: string, { except = [], mounted = false, sign }: UseOptions = {}): ProcessUse[] {
  const using = processesWith(withinTree(path))
  const known = new Set(using.map(({ pid }) => pid))
  const others = mounted ? processesMounting(path).filter(({ pid }) => !known.has(pid)) : []
  const found = [...using, ...others].filter(({ pid }) => !isFrom(pid, except))
  if (sign === undefined) return found
  const file = realPath(sign)
  return found.map((one) => (one.uses === 'file' && isSigned(one.pid, file) ? { ...one, own: true } : one))
}

/** The programs that aw starts to copy have nothing but the tree open. */
function isSigned(pid: number, file: string): boolean {
  const isCopier = basename(readLink(`/proc/${pid}/exe`) ?? '') === 'aw-copy'
  const one = isCopier ? parentOf(pid) : pid
  return names(`/proc/${one}/fd`).some((fd) => readLink(`/proc/${one}/fd/${fd}`) === file)
}

function processesMounting(path: string): ProcessUse[] {
  const place = placeOf(realPath(path), mountsOf('self') ?? [])
  if (place === undefined) return []
  const ours = namespaceOf('self')
  const known = new Map<string, boolean>()
  const hasIt = (pid: number): boolean => {
    const namespace = namespaceOf(String(pid))
    if (namespace === undefined || namespace === ours) return false
    const mounts = known.has(namespace) ? [] : (mountsOf(String(pid)) ?? [])
    if (!known.has(namespace))
      known.set(
        namespace,
        mounts.some(({ device, root }) => device === place.device && isBelow(root, place.path)),
      )
    return known.get(namespace) === true
  }
  return processIds()
    .filter(hasIt)
    .map((pid) => ({ pid, command: commandOf(pid), uses: 'mount' }))
}

/** Those that have it open by its own path. */
export function processesHaving(path: string): ProcessUse[] {
  const directory = realPath(path)
  return processesWith(() => (target) => isBelow(target, directory))
}

/** Whether what a process has open is in the tree, by what the kernel calls it; undefined if it does not see the tree. */
type Within = (target: string) => boolean
type WithinFor = (pid: number, root: string | undefined) => Within | undefined

function processesWith(within: WithinFor): ProcessUse[] {
  // There are many links to read, and most processes may not be looked into: an error of Node's takes longer than that.
  native()
  return processIds().flatMap((pid) => {
    const uses = useOf(pid, within)
    return uses === undefined ? [] : [{ pid, command: commandOf(pid), uses }]
  })
}

function useOf(pid: number, withinFor: WithinFor): ProcessUse['uses'] | undefined {
  // A thread of the kernel has no program; nor has what has ended or may not be looked into.
  if (readLink(`/proc/${pid}/exe`) === undefined) return undefined
  const cwd = readLink(`/proc/${pid}/cwd`)
  if (cwd === undefined) return undefined
  const descriptors = `/proc/${pid}/fd`
  const root = readLink(`/proc/${pid}/root`)
  const within = withinFor(pid, root)
  if (within === undefined) return undefined
  if (within(cwd)) return 'cwd'
  if (root !== undefined && within(root)) return 'root'
  const isOpen = (fd: string): boolean => within(readLink(`${descriptors}/${fd}`) ?? '')
  return names(descriptors).some(isOpen) ? 'file' : undefined
}

/**
 * A mount shows a directory of a file system at a path; so the same tree has as many names as it has mounts. Those of a
 * namespace are read once, when its first process is met.
 */
function withinTree(path: string): WithinFor {
  const directory = realPath(path)
  const here = mountsOf('self') ?? []
  const place = placeOf(directory, here)
  if (place === undefined) return () => (target) => isBelow(target, directory)
  const ours = namespaceOf('self')
  const own = withinOf(here, place)
  const known = new Map<string, Within | undefined>()
  return (pid, root = '/') => {
    const namespace = namespaceOf(String(pid))
    if (namespace === undefined || namespace === ours) return own
    const key = `${namespace} ${root}`
    if (!known.has(key)) known.set(key, withinOf(mountsOf(String(pid)) ?? [], place, root))
    return known.get(key)
  }
}

/** @param root of who sees the mounts so: what the kernel says of an open file does not begin there */
function withinOf(seen: readonly Mounted[], place: TreePlace, root = '/'): Within | undefined {
  const mounts = seen.map((mount) => ({ ...mount, path: joined(root, mount.path) }))
  const all = namesIn(mounts, place)
  if (all.length === 0) return undefined
  return (target) => {
    if (!all.some((name) => isBelow(target, name))) return false
    // Something else may be mounted over it.
    const mount = topmost(mounts, target)
    return mount?.device === place.device && isBelow(joined(mount.root, rest(target, mount.path)), place.path)
  }
}

/** Later mounts are above earlier ones. */
const topmost = (mounts: readonly Mounted[], path: string): Mounted | undefined =>
  mounts.reduce<Mounted | undefined>(
    (found, mount) => (isBelow(path, mount.path) && mount.path.length >= (found?.path.length ?? 0) ? mount : found),
    undefined,
  )

/** A directory by its file system and its path there. */
interface TreePlace {
  readonly device: string
  readonly path: string
}

function placeOf(directory: string, mounts: readonly Mounted[]): TreePlace | undefined {
  const id = attempt(() => mountOf(directory))
  const mount = mounts.find((one) => one.id === id)
  if (mount === undefined || !isBelow(directory, mount.path)) return undefined
  return { device: mount.device, path: joined(mount.root, rest(directory, mount.path)) }
}

function mountOf(directory: string): string {
  const fd = openSync(directory, directoryFlags)
  try {
    return mountId(fd)
  } finally {
    closeSync(fd)
  }
}

/** Where the tree is seen: by mounts of it or of a part of it, and by those of what it is in. */
const namesIn = (mounts: readonly Mounted[], { device, path }: TreePlace): string[] =>
  mounts
    .filter((mount) => mount.device === device)
    .flatMap((mount) => {
      if (isBelow(mount.root, path)) return [mount.path]
      return isBelow(path, mount.root) ? [joined(mount.path, rest(path, mount.root))] : []
    })

/** Both absolute. */
const joined = (above: string, below: string): string =>
  above === '/' ? below : below === '/' ? above : `${above}${below}`

const rest = (path: string, above: string): string => (above === '/' ? path : path.slice(above.length) || '/')

/** The kernel tells real paths; a home may be reached through links. */
const realPath = (path: string): string => attempt(() => realpathSync.native(path)) ?? path

const isBelow = (target: string, directory: string): boolean =>
  target === directory || target.startsWith(directory === '/' ? '/' : `${directory}/`)

/** Whether it is one of these, or has one of them among those who started it. */
function isFrom(pid: number, ancestors: readonly number[]): boolean {
  for (let one = pid, steps = 0; one > 1 && steps < maxSteps; one = parentOf(one), steps += 1)
    if (ancestors.includes(one)) return true
  return false
}

const maxSteps = 1000

const parentOf = (pid: number): number => Number(statOf(pid).parent ?? 0)

/** Those of programs, other than this one. A number that is the kernel's after all have been read was so before. */
function processIds(): number[] {
  const all = names('/proc').filter((name) => /^\d+$/.test(name))
  const others = new Set([...kernelThreads(), String(process.pid)])
  return all.filter((name) => !others.has(name)).map(Number)
}

const names = (directory: string): string[] => attempt(() => readdirSync(directory)) ?? []

/** The program's name as it was started, without its arguments, which may hold secrets. `comm` is that of a thread. */
function commandOf(pid: number): string {
  const started = (read(`/proc/${pid}/cmdline`) ?? '').split('\0')[0]?.split('/').at(-1)
  return started || (read(`/proc/${pid}/comm`) ?? '').trim()
}
