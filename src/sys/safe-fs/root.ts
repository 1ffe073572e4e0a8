import * as fs from 'node:fs'
import { resolve } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { foldName } from '../../domain/paths.ts'
import type { RootOptions } from '../../ports/files.ts'
import { native, nativeProblem } from '../syscalls/native.ts'
import { at, directoryFlags, identity, mountId, namingFlags, requireProc } from './descriptors.ts'
import { translatingErrors } from './errors.ts'

/** An open tree: everything is found from its descriptor. */
export interface Root extends Disposable {
  readonly fd: number
  readonly mount: string
  readonly resolver: 'openat2' | 'walk'
  /** Absolute paths that mean the root. */
  readonly paths: readonly string[]
  /** Folded names directly below the root that are not to be changed. */
  readonly protect: ReadonlySet<string>
  /** The objects with those names, now and when the root was opened: moving one away does not make it writable. */
  protectedObjects(): ReadonlySet<string>
  readonly fileMode: number | undefined
  readonly dirMode: number | undefined
  readonly closed: boolean
}

/** The way to the root is the caller's responsibility and may lead through links; the root is none itself. */
export function openTree(path: string, options: RootOptions = {}): Root {
  requireProc()
  const resolver = chooseResolver(options.resolver ?? 'auto')
  const given = isDescriptor(path) ? path : resolve(path)
  const fd = openDirectory(given)
  const protect = options.protect ?? []
  const known = identities(fd, [...protect, ...(options.hold ?? [])])
  let closed = false
  return {
    fd,
    mount: mountId(fd),
    resolver,
    paths: [...new Set([...namesOf(given, fd), ...[options.publicRoot ?? []].flat()])],
    protect: new Set(protect.map(foldName)),
    protectedObjects: () => new Set([...known, ...identities(fd, protect)]),
    fileMode: options.fileMode,
    dirMode: options.dirMode,
    get closed() {
      return closed
    },
    [Symbol.dispose]() {
      if (closed) return
      closed = true
      fs.closeSync(fd)
    },
  }
}

/** As storage tells where a tree is that is mounted nowhere. The dot at the end is what makes it no link. */
const isDescriptor = (path: string): boolean => /^\/proc\/self\/fd\/\d+\/\.$/.test(path)

/** What leads there by name: to a tree that has none here, nothing does, whatever the kernel calls it. */
const namesOf = (given: string, fd: number): string[] => (isDescriptor(given) ? [] : [given, fs.readlinkSync(at(fd))])

/** A link in the place of a tree was put there by somebody else, to have what it leads to changed. */
function openDirectory(path: string): number {
  return translatingErrors('', () => {
    try {
      return fs.openSync(path, directoryFlags)
    } catch (error) {
      if (!fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw error
      throw new AwError('path_outside_workspace', 'There is a link in the place of the workspace', {
        hint: 'Put the directory back that was there; to see what else is wrong, run: aw doctor',
        data: { path: '' },
        cause: error,
      })
    }
  })
}

function chooseResolver(asked: 'auto' | 'openat2' | 'walk'): 'openat2' | 'walk' {
  const wanted = asked === 'auto' ? (process.env['AW_RESOLVER'] ?? 'auto') : asked
  if (wanted === 'walk') return 'walk'
  if (wanted !== 'openat2' && wanted !== 'auto') {
    throw new AwError('invalid_config', `AW_RESOLVER is openat2, walk or auto, not ${JSON.stringify(wanted)}`)
  }
  if (native()?.hasOpenat2) return 'openat2'
  if (wanted === 'auto') return 'walk'
  throw new AwError('unsupported', `openat2 is not available: ${nativeProblem() ?? 'the kernel refuses it'}`)
}

function identities(dir: number, names: readonly string[]): Set<string> {
  const found = new Set<string>()
  for (const name of names) {
    let fd: number
    try {
      fd = fs.openSync(at(dir, name), namingFlags)
    } catch {
      continue // Absent: its name is guarded, there is no object to guard.
    }
    found.add(identity(fd))
    fs.closeSync(fd)
  }
  return found
}
