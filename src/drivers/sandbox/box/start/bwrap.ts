import { boxHome } from '../../../../domain/sandbox/mount-target.ts'
import type { Network } from '../../../../domain/sandbox/spec.ts'
import { boxHostname, gitIgnorePath, initPath, sizes } from './paths.ts'

/**
 * The walls of a `namespace` box as arguments of bubblewrap. A pure function of what is given: nothing is looked at.
 *
 * Inside there are: the system's programs, read-only; a few files of /etc; a home, a /tmp, a /run and a /dev/shm of its
 * own in memory, each with a size; the tree; what is mounted besides; and one user, who is nobody else's outside. The
 * root itself and /dev are read-only. Our own program is process 1, and after it nobody can make a user namespace.
 */
export interface Walls {
  readonly bwrap: string
  /** As `systemArguments` of `system-view.ts` says. */
  readonly system: readonly string[]
  readonly data: {
    readonly passwd: Descriptor
    readonly group: Descriptor
    readonly hosts: Descriptor
    readonly box: Descriptor
    readonly filter: Descriptor
    readonly git?: Descriptor
    readonly gitIgnore?: Descriptor
  }
  /** Parents before what is in them. */
  readonly mounts: readonly BoxMount[]
  readonly mount: string
  readonly network: Network['mode']
  /** Whether it knows `--disable-userns`. */
  readonly disablesUserns: boolean
}

/** An open file, by its number in the process that runs bubblewrap. */
export type Descriptor = number

export interface BoxMount {
  readonly source: { readonly descriptor: Descriptor } | { readonly path: string }
  readonly target: string
  readonly writable: boolean
}

export function bwrapArguments(walls: Walls): string[] {
  const { data, network } = walls
  return [
    walls.bwrap,
    ...namespaces,
    ...(network === 'host' ? [] : ['--unshare-net']),
    ...(walls.disablesUserns ? ['--disable-userns', '--assert-userns-disabled'] : []),
    ...life,
    ...walls.system,
    ...words('--proc /proc --dev /dev'),
    ...tmpfs('/tmp', sizes.tmp, '1777'),
    ...tmpfs(boxHome, sizes.home, '0700'),
    ...tmpfs('/dev/shm', sizes.shm, '1777'),
    ...tmpfs('/run', sizes.run, '0755'),
    ...readOnlyData(data.passwd, '/etc/passwd', '0444'),
    ...readOnlyData(data.group, '/etc/group', '0444'),
    ...(network === 'host' ? hostNames : readOnlyData(data.hosts, '/etc/hosts', '0444')),
    ...(data.git === undefined ? [] : readOnlyData(data.git, '/etc/gitconfig', '0444')),
    ...(data.gitIgnore === undefined ? [] : readOnlyData(data.gitIgnore, gitIgnorePath, '0444')),
    ...readOnlyData(data.box, initPath, '0555'),
    ...walls.mounts.flatMap(mountArguments),
    ...words('--remount-ro /dev --remount-ro /'),
    '--chdir',
    walls.mount,
    ...words(`--seccomp ${data.filter} -- ${initPath} init`),
  ]
}

/** Of a text in which no word comes from outside. */
const words = (text: string): string[] => text.split(' ')

const namespaces = words('--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try')
const life = words(
  `--uid 1000 --gid 1000 --hostname ${boxHostname} --die-with-parent --as-pid-1 --clearenv --cap-drop ALL`,
)

const tmpfs = (path: string, bytes: number, mode: string): string[] =>
  words(`--perms ${mode} --size ${bytes} --tmpfs ${path}`)

const readOnlyData = (descriptor: Descriptor, path: string, mode: string): string[] =>
  words(`--perms ${mode} --ro-bind-data ${descriptor} ${path}`)

const hostNames = ['/etc/hosts', '/etc/resolv.conf'].flatMap((path) => ['--ro-bind-try', path, path])

function mountArguments({ source, target, writable }: BoxMount): string[] {
  if ('path' in source) return [writable ? '--bind' : '--ro-bind', source.path, target]
  return [writable ? '--bind-fd' : '--ro-bind-fd', String(source.descriptor), target]
}
