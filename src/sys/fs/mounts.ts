import * as fs from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import { counted } from './crash-points.ts'
import { hasCode } from '../syscalls/errno.ts'
import { FSCONFIG, MOUNT, native, nativeProblem, type Native, UMOUNT } from '../syscalls/native.ts'
import { readLink } from '../processes/process.ts'
import { namingFlags, readFlags } from '../safe-fs/descriptors.ts'

/** Overlay mounts, made by system calls: a list of layers then has no limit but the kernel's own, of 500. */

export interface OverlayLayers {
  /** The uppermost first; at least two if there is no upper. */
  readonly lower: readonly string[]
  /** None: nobody can write. */
  readonly upper?: { readonly fs: string; readonly work: string } | undefined
}

/**
 * A new overlay, mounted nowhere: it is seen below `mountPath` this descriptor, and goes when that is closed unless it was
 * attached. EBUSY (see `isInUse`) if one of the layers is the upper of another overlay that anybody still has mounted,
 * in whatever namespace.
 */
export const mounts = counted({
  overlay: openOverlay,
  attach: (fd: number, path: string): void => calls().moveMount(fd, path),
  /** Refused with EBUSY while a process has a file open in it or works there. */
  unmount: (path: string): void => calls().umount2(path, UMOUNT.NOFOLLOW),
  /** Gone from its place at once; those who are in it stay in it until they leave. Its layers are free a moment later. */
  detach,
  /** Marks a mount that nobody uses as one that may go (EAGAIN), and unmounts one that has the mark still. Else EBUSY. */
  expire: (path: string): void => calls().umount2(path, UMOUNT.NOFOLLOW | UMOUNT.EXPIRE),
})

/**
 * The last to let go of an overlay waits until everything on its file system is on the disk. That is nothing that
 * anybody was promised, so another thread does it; and a moment later, as the disk has something to write that somebody
 * waits for.
 */
function detach(path: string): void {
  const fd = fs.openSync(path, namingFlags)
  try {
    calls().umount2(path, UMOUNT.NOFOLLOW | UMOUNT.DETACH)
  } finally {
    setTimeout(() => fs.close(fd, () => undefined), momentMs).unref()
  }
}

const momentMs = 5

/** What is mounted at a path, once more, and mounted nowhere yet: what is open in it is not disturbed. */
export const cloneMount = (path: string): number => calls().cloneMount(path)

/** A path to the top of a mount that is mounted nowhere. */
export const mountPath = (fd: number): string => `/proc/self/fd/${fd}/.`

export const isInUse = (error: unknown): boolean => hasCode(error, 'EBUSY')

export function calls(): Native {
  const found = native()
  if (found !== undefined) return found
  throw new AwError('unsupported', `Overlays cannot be mounted: ${nativeProblem() ?? ''}`)
}

const writable: readonly (readonly [string, string])[] = [
  // Hard links of a lower layer stay one file when it is written to, and a layer in use is told instead of shared.
  ['index', 'on'],
  // A directory of a lower layer can be renamed, as everywhere else.
  ['redirect_dir', 'on'],
  // Watching a whole tree needs it.
  ['nfs_export', 'on'],
  // A file of an upper layer is whole: it can be read without the layers below.
  ['metacopy', 'off'],
]

/** The path of an upper layer or its work directory as the kernel takes it: a backslash means what is behind it. */
export const escapeOption = (path: string): string => path.replaceAll('\\', '\\\\')

/** The other way: mounts are listed with what the kernel was given. */
const unescapeOption = (text: string): string => text.replace(/\\(.)/gs, '$1')

function openOverlay({ lower, upper }: OverlayLayers): number {
  const kernel = calls()
  const context = kernel.fsopen('overlay')
  try {
    const set = (key: string, value: string): void => kernel.fsconfig(context, FSCONFIG.STRING, key, value)
    set('source', 'aw')
    for (const layer of lower) set('lowerdir+', layer)
    if (upper === undefined) {
      set('redirect_dir', 'follow')
      set('metacopy', 'off')
    } else {
      set('upperdir', escapeOption(upper.fs))
      set('workdir', escapeOption(upper.work))
      for (const [key, value] of writable) set(key, value)
    }
    kernel.fsconfig(context, FSCONFIG.CREATE, null, null)
    return kernel.fsmount(context, upper === undefined ? MOUNT.RDONLY : 0)
  } catch (error) {
    throw explained(error, messagesOf(context))
  } finally {
    fs.closeSync(context)
  }
}

/** What the kernel says about why it refused. */
function messagesOf(context: number): string {
  const buffer = Buffer.alloc(4096)
  const lines: string[] = []
  try {
    // Each read gives one; the end is an error.
    for (;;) lines.push(buffer.toString('utf8', 2, fs.readSync(context, buffer)).trim())
  } catch {
    return lines.join('; ')
  }
}

function explained(error: unknown, messages: string): unknown {
  if (hasCode(error, 'ESTALE')) return copied(error, messages)
  if (!(error instanceof Error) || messages === '' || isInUse(error)) return error
  return Object.assign(error, { message: `${error.message}: ${messages}` })
}

/** Layers refer to what is below them by the numbers that the file system gave it, which no copy of files has. */
const copied = (cause: unknown, messages: string): AwError =>
  new AwError(
    'storage_unavailable',
    'The layers of this tree were copied, or restored from a backup, file by file: they cannot be used for writing',
    {
      hint:
        'Its snapshots can be read and forked: fork the last one. To move a home with all that is in it, copy its disk ' +
        'as a whole, or use the storage driver dir',
      data: { messages },
      cause,
    },
  )

/** Whether something is mounted at a path whose parent directory is on another mount. */
export function isMounted(path: string, parent: string): boolean {
  const there = fs.lstatSync(path, { throwIfNoEntry: false })
  return there !== undefined && there.dev !== fs.lstatSync(parent).dev
}

export interface Mounted {
  readonly id: string
  /** The id of the mount that it is mounted on. */
  readonly parent: string
  readonly device: string
  /** Which directory of the file system is seen there. */
  readonly root: string
  readonly path: string
  /** Groups of mounts: what is mounted or unmounted on one of the first becomes so on all that name it. */
  readonly tells: string | undefined
  readonly hears: readonly string[]
  /** Of an overlay. */
  readonly upper: string | undefined
}

/** All mounts that a process sees; of one that is gone, or that we may not look into, undefined. */
export function mountsOf(process: string): Mounted[] | undefined {
  let text: string
  try {
    text = fs.readFileSync(`/proc/${process}/mountinfo`, 'latin1')
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL')) return undefined
    throw error
  }
  return text.split('\n').filter(Boolean).map(mountedFrom)
}

function mountedFrom(line: string): Mounted {
  const fields = line.split(' ')
  const last = fields.at(-1) ?? ''
  const upper = last.includes('upperdir=') ? /(?:^|,)upperdir=([^,]*)/.exec(last)?.[1] : undefined
  const groups = fields.slice(6, fields.indexOf('-', 6)).map((field) => field.split(':'))
  return {
    id: fields[0] ?? '',
    parent: fields[1] ?? '',
    device: fields[2] ?? '',
    root: plain(fields[3] ?? ''),
    path: plain(fields[4] ?? ''),
    tells: groups.find(([kind]) => kind === 'shared')?.[1],
    hears: groups.flatMap(([kind, group]) => ((kind === 'shared' || kind === 'master') && group ? [group] : [])),
    upper: upper === undefined ? undefined : unescapeOption(plain(upper)),
  }
}

/** Blanks and the like are written as octal numbers. */
const plain = (text: string): string => (/^[ -[\]-~]*$/.test(text) ? text : decoded(text))

const decoded = (text: string): string =>
  Buffer.from(
    text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8))),
    'latin1',
  ).toString()

/** A mount that another namespace has, and a process that sees it. */
export interface ForeignMount {
  readonly process: number
  readonly namespace: string
  readonly path: string
  /** It goes when the one at the same path here is unmounted: the kernel sees to that. */
  readonly follows: boolean
}

/**
 * Where something is mounted, as seen by any process of the machine: in our own namespace, and in others. Each namespace
 * is looked at once. One without a process is not seen.
 */
export function findMounts(matches: (mount: Mounted) => boolean): { own: string[]; others: ForeignMount[] } {
  const ours = mountsOf('self') ?? []
  const own = ours.filter(matches)
  const told = new Map(own.map((mount) => [mount.path, below(ours, mount)?.tells]))
  const seen = new Set([namespaceOf('self')])
  const others: ForeignMount[] = []
  for (const process of processes()) {
    const namespace = namespaceOf(process)
    if (namespace === undefined || seen.has(namespace)) continue
    seen.add(namespace)
    const theirs = mountsOf(process) ?? []
    for (const mount of theirs.filter(matches)) {
      const group = told.get(mount.path)
      const follows = group !== undefined && (below(theirs, mount)?.hears.includes(group) ?? false)
      others.push({ process: Number(process), namespace, path: mount.path, follows })
    }
  }
  return { own: own.map(({ path }) => path), others }
}

export const processes = (): string[] => fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))

/** What a mount is mounted on. */
const below = (all: readonly Mounted[], { parent }: Mounted): Mounted | undefined => all.find(({ id }) => id === parent)

export const namespaceOf = (process: string): string | undefined => readLink(`/proc/${process}/ns/mnt`)

/** Makes everything written to the file system of a directory durable. */
export function syncFileSystem(directory: string): void {
  const fd = fs.openSync(directory, readFlags)
  try {
    calls().syncfs(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** The same, while other work goes on. */
export async function syncFileSystemAsync(directory: string): Promise<void> {
  const fd = fs.openSync(directory, readFlags)
  try {
    await calls().syncfsLater(fd)
  } finally {
    fs.closeSync(fd)
  }
}
