import * as fs from 'node:fs'
import type { CheckName, NaiveOperation } from './naive.ts'
import type { Place } from './fixture.ts'

/**
 * Attacks by class. Each case sets a trap and names a path. `verdict` is what reading it must answer; every other
 * operation is tried on it too, and must change or tell nothing that is not the caller's. `naive` names a check that
 * falls for it, and how one sees that it did.
 */
export interface Attack {
  readonly name: string
  readonly path: (place: Place) => unknown
  readonly trap?: (place: Place) => void
  readonly verdict: string
  readonly naive?: {
    readonly check: CheckName
    readonly operation: NaiveOperation
    readonly harm: 'tells' | 'changes' | 'hangs' | 'swallows' | 'fails'
  }
  /** The content came into the workspace by the owner's own hand (a hard link): reading it is no escape. */
  readonly owned?: true
}

const told = (check: CheckName, operation: NaiveOperation = 'read') => ({ check, operation, harm: 'tells' }) as const
const changed = (check: CheckName, operation: NaiveOperation = 'write') =>
  ({ check, operation, harm: 'changes' }) as const

const traversal: Attack[] = [
  { name: 'one up', path: () => '../vault/hoard', verdict: 'path_traversal_attempt' },
  {
    name: 'down, then up',
    path: () => 'd/../../vault/hoard',
    verdict: 'path_traversal_attempt',
    naive: told('beginning'),
  },
  { name: 'doubled dots', path: () => '....//vault/hoard', verdict: 'file_not_found', naive: told('stripped') },
  { name: 'far up', path: () => `${'../'.repeat(40)}etc/passwd`, verdict: 'path_traversal_attempt' },
  { name: 'up from what is not there', path: () => 'no/../../vault/hoard', verdict: 'path_traversal_attempt' },
  {
    name: 'current directories in between',
    path: () => './d/./.././../vault/hoard',
    verdict: 'path_traversal_attempt',
    naive: told('beginning'),
  },
  { name: 'backslashes', path: () => '..\\vault\\hoard', verdict: 'file_not_found' },
]

const encodings: Attack[] = [
  { name: 'percent', path: () => '%2e%2e/vault/hoard', verdict: 'file_not_found', naive: told('decodes') },
  {
    name: 'percent, slash too',
    path: () => '%2e%2e%2fvault%2fhoard',
    verdict: 'file_not_found',
    naive: told('decodes'),
  },
  { name: 'percent of a percent', path: () => '%252e%252e/vault/hoard', verdict: 'file_not_found' },
  { name: 'a leader of two dots', path: () => '‥/vault/hoard', verdict: 'file_not_found', naive: told('normalizes') },
  { name: 'full width', path: () => '．．／vault／hoard', verdict: 'file_not_found', naive: told('normalizes') },
  { name: 'a lone surrogate', path: () => '\ud800/hoard', verdict: 'invalid_path' },
  { name: 'a line feed', path: () => 'd/file\n../vault/hoard', verdict: 'invalid_path' },
  { name: 'an escape sequence', path: () => '\u001b[2Jd', verdict: 'invalid_path' },
]

const nul: Attack[] = [
  {
    name: 'before an ending',
    path: () => 'private\0.txt',
    verdict: 'invalid_path_null_byte',
    naive: told('separator', 'readText'),
  },
  { name: 'at the end', path: () => 'd/file\0', verdict: 'invalid_path_null_byte' },
  { name: 'alone', path: () => '\0', verdict: 'invalid_path_null_byte' },
]

const absolute: Attack[] = [
  {
    name: 'of a neighbour',
    path: (place) => place.out('vault/hoard'),
    verdict: 'path_outside_workspace',
    naive: told('noDots'),
  },
  { name: 'of the system', path: () => '/etc/passwd', verdict: 'path_outside_workspace' },
  {
    name: 'with two slashes',
    path: (place) => `/${place.out('vault/hoard')}`,
    verdict: 'path_outside_workspace',
    naive: told('noDots'),
  },
  {
    name: 'into the root and out again',
    path: (place) => `${place.ws}/../vault/hoard`,
    verdict: 'path_traversal_attempt',
  },
  {
    name: 'through the process',
    path: (place) => `/proc/self/root${place.out('vault/hoard')}`,
    verdict: 'path_outside_workspace',
    naive: told('noDots'),
  },
]

const siblings: Attack[] = [
  { name: 'relative', path: () => '../ws-evil/hoard', verdict: 'path_traversal_attempt', naive: told('prefix') },
  {
    name: 'absolute',
    path: (place) => `${place.ws}-evil/hoard`,
    verdict: 'path_outside_workspace',
    naive: told('prefix'),
  },
  {
    name: 'behind a link',
    trap: (place) => place.link(`${place.ws}-evil`, 'x'),
    path: () => 'x/hoard',
    verdict: 'symlink_outside_workspace',
    naive: told('separator'),
  },
]

const links: Attack[] = [
  {
    name: 'to a file',
    trap: (place) => place.link('../vault/hoard', 'x'),
    path: () => 'x',
    verdict: 'symlink_outside_workspace',
    naive: told('separator'),
  },
  {
    name: 'to a file, absolute',
    trap: (place) => place.link(place.out('vault/hoard'), 'x'),
    path: () => 'x',
    verdict: 'symlink_outside_workspace',
    naive: changed('separator'),
  },
  {
    name: 'to a directory',
    trap: (place) => place.link('../vault', 'x'),
    path: () => 'x/hoard',
    verdict: 'symlink_outside_workspace',
    naive: changed('separator', 'remove'),
  },
  {
    name: 'to a directory, listed',
    trap: (place) => place.link('../vault', 'x'),
    path: () => 'x',
    verdict: 'symlink_outside_workspace',
    naive: told('separator', 'list'),
  },
  {
    name: 'to nothing yet',
    trap: (place) => place.link('../vault/new', 'x'),
    path: () => 'x',
    verdict: 'symlink_outside_workspace',
    naive: changed('separator'),
  },
  {
    name: 'in a chain',
    trap(place) {
      place.link('b', 'a')
      place.link('d/../c', 'b')
      place.link('d/../../vault', 'c')
    },
    path: () => 'a/hoard',
    verdict: 'symlink_outside_workspace',
    naive: told('separator'),
  },
  {
    name: 'that climbs by another',
    trap(place) {
      fs.mkdirSync(place.in('p/q/r'), { recursive: true })
      place.link('../..', 'p/q/r/up')
      place.link('r/up/../../vault', 'p/q/escape')
    },
    path: () => 'p/q/escape/hoard',
    verdict: 'symlink_outside_workspace',
    naive: told('separator'),
  },
  { name: 'to itself', trap: (place) => place.link('x', 'x'), path: () => 'x', verdict: 'cannot_resolve_symlinks' },
  {
    name: 'round and round',
    trap(place) {
      place.link('y/z', 'x')
      place.link('x/z', 'y')
    },
    path: () => 'x',
    verdict: 'cannot_resolve_symlinks',
  },
  {
    name: 'forty-one times',
    trap(place) {
      for (let n = 0; n < 41; n++) place.link(n === 40 ? 'd/file' : `l${n + 1}`, `l${n}`)
    },
    path: () => 'l0',
    verdict: 'cannot_resolve_symlinks',
  },
  {
    name: 'out and in again',
    trap: (place) => place.link('../ws/d', 'x'),
    path: () => 'x/file',
    verdict: 'symlink_outside_workspace',
  },
  {
    name: 'then the caller climbs',
    trap: (place) => place.link('.', 'd/x'),
    path: () => 'd/x/../../vault/hoard',
    verdict: 'path_traversal_attempt',
  },
]

const magic: Attack[] = [
  {
    name: "the process's root",
    trap: (place) => place.link('/proc/self/root', 'x'),
    path: (place) => `x${place.out('vault/hoard')}`,
    verdict: 'symlink_outside_workspace',
    naive: told('separator'),
  },
  {
    name: "the process's directory",
    trap: (place) => place.link('/proc/self/cwd', 'x'),
    path: () => 'x/package.json',
    verdict: 'symlink_outside_workspace',
  },
  {
    name: 'an open file',
    trap: (place) => place.link('/proc/self/fd/0', 'x'),
    path: () => 'x',
    verdict: 'symlink_outside_workspace',
  },
  {
    name: 'the environment',
    trap: (place) => place.link('/proc/self/environ', 'x'),
    path: () => 'x',
    verdict: 'symlink_outside_workspace',
  },
]

const hardLinks: Attack[] = [
  {
    name: 'to a file outside',
    trap: (place) => fs.linkSync(place.out('vault/hoard'), place.in('x')),
    path: () => 'x',
    verdict: 'ok',
    naive: changed('realpath'),
    owned: true,
  },
  {
    name: 'to a file of ours',
    trap: (place) => fs.linkSync(place.in('.aw/state'), place.in('x')),
    path: () => 'x',
    verdict: 'ok',
    naive: changed('realpath'),
  },
]

const pipes: Attack[] = [
  {
    name: 'with nobody at the other end',
    trap: (place) => place.run('mkfifo', place.in('x')),
    path: () => 'x',
    verdict: 'not_a_file',
    naive: { check: 'realpath', operation: 'read', harm: 'hangs' },
  },
  {
    name: 'behind a link',
    trap(place) {
      place.run('mkfifo', place.in('pipe'))
      place.link('pipe', 'x')
    },
    path: () => 'x',
    verdict: 'not_a_file',
    naive: { check: 'realpath', operation: 'write', harm: 'hangs' },
  },
]

/** Binds a unix socket; the process that did so has ended. */
const bindSocket = (path: string): string[] => [
  process.execPath,
  '-e',
  `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
]

const sockets: Attack[] = [
  {
    name: 'in the place of a file',
    trap(place) {
      try {
        place.run(...bindSocket(place.in('x')))
      } catch {
        // It was killed, so that it could not tidy up.
      }
      fs.lstatSync(place.in('x'))
    },
    path: () => 'x',
    verdict: 'not_a_file',
    naive: { check: 'realpath', operation: 'replace', harm: 'swallows' },
  },
]

const devices: Attack[] = [
  {
    name: 'without end',
    trap: (place) => place.run('mknod', place.in('x'), 'c', '1', '5'),
    path: () => 'x',
    verdict: 'not_a_file',
    naive: { check: 'realpath', operation: 'read', harm: 'hangs' },
  },
  {
    name: 'a block device',
    trap: (place) => place.run('mknod', place.in('x'), 'b', '7', '200'),
    path: () => 'x',
    verdict: 'not_a_file',
  },
]

const huge: Attack[] = [
  {
    name: 'sparse',
    trap(place) {
      fs.writeFileSync(place.in('x'), '')
      fs.truncateSync(place.in('x'), 256 * 2 ** 20)
    },
    path: () => 'x',
    verdict: 'file_too_large',
    naive: { check: 'realpath', operation: 'read', harm: 'swallows' },
  },
  {
    name: 'larger than any memory',
    trap(place) {
      fs.writeFileSync(place.in('x'), '')
      fs.truncateSync(place.in('x'), 2 ** 42)
    },
    path: () => 'x',
    verdict: 'file_too_large',
  },
]

/** Deeper than a path can say. */
export function digDown(from: string, depth: number): void {
  let fd = fs.openSync(from, fs.constants.O_DIRECTORY)
  for (let level = 0; level < depth; level++) {
    fs.mkdirSync(`/proc/self/fd/${fd}/deep`)
    const next = fs.openSync(`/proc/self/fd/${fd}/deep`, fs.constants.O_DIRECTORY)
    fs.closeSync(fd)
    fd = next
  }
  fs.closeSync(fd)
}

const deep: Attack[] = [
  {
    name: 'deeper than a path',
    trap(place) {
      fs.mkdirSync(place.in('x'))
      digDown(place.in('x'), 900)
    },
    path: () => 'x',
    verdict: 'not_a_file',
    naive: { check: 'realpath', operation: 'removeAll', harm: 'fails' },
  },
  { name: 'a name too long', path: () => 'n'.repeat(256), verdict: 'path_too_long' },
  { name: 'a name too long in bytes', path: () => 'é'.repeat(128), verdict: 'path_too_long' },
  { name: 'a path too long', path: () => 'n/'.repeat(2049), verdict: 'path_too_long' },
]

const values: Attack[] = [
  { name: 'an array', path: () => ['../vault/hoard'], verdict: 'invalid_path', naive: told('untyped') },
  {
    name: 'one thing, then another',
    path: () => {
      let calls = 0
      return { toString: () => (calls++ === 0 ? 'd/file' : '../vault/hoard') }
    },
    verdict: 'invalid_path',
    naive: told('twice'),
  },
  { name: 'bytes', path: () => Buffer.from('../vault/hoard'), verdict: 'invalid_path' },
  { name: 'an address', path: (place) => new URL(`file://${place.out('vault/hoard')}`), verdict: 'invalid_path' },
  { name: 'a descriptor', path: () => 0, verdict: 'invalid_path' },
  { name: 'a string object', path: () => new String('../vault/hoard'), verdict: 'invalid_path' },
  { name: 'nothing', path: () => undefined, verdict: 'invalid_path' },
  { name: 'null', path: () => null, verdict: 'invalid_path' },
]

const mounts: Attack[] = [
  {
    name: 'a directory of the same file system',
    trap(place) {
      fs.mkdirSync(place.in('m'))
      place.run('mount', '--bind', place.out('vault'), place.in('m'))
    },
    path: () => 'm/hoard',
    verdict: 'path_outside_workspace',
    naive: told('realpath'),
  },
  {
    name: 'the mount point itself',
    trap(place) {
      fs.mkdirSync(place.in('m'))
      place.run('mount', '--bind', place.out('vault'), place.in('m'))
    },
    path: () => 'm',
    verdict: 'path_outside_workspace',
    naive: told('realpath', 'list'),
  },
  {
    name: 'something new in it',
    trap(place) {
      fs.mkdirSync(place.in('m'))
      place.run('mount', '--bind', place.out('vault'), place.in('m'))
    },
    path: () => 'm/new/file',
    verdict: 'path_outside_workspace',
  },
  {
    name: 'a file',
    trap(place) {
      fs.writeFileSync(place.in('f'), '')
      place.run('mount', '--bind', place.out('vault/hoard'), place.in('f'))
    },
    path: () => 'f',
    verdict: 'path_outside_workspace',
    naive: changed('realpath'),
  },
  {
    name: 'below what is removed or copied',
    trap(place) {
      fs.mkdirSync(place.in('x/m'), { recursive: true })
      place.run('mount', '--bind', place.out('vault'), place.in('x/m'))
    },
    path: () => 'x',
    verdict: 'not_a_file',
    naive: changed('realpath', 'remove'),
  },
]

const metadata: Attack[] = [
  { name: 'by its name', path: () => '.aw/state', verdict: 'ok' },
  { name: 'by a roundabout way', path: () => 'd/../.aw/state', verdict: 'ok', naive: changed('metadata') },
  { name: 'with a dot', path: () => './.aw/state', verdict: 'ok', naive: changed('metadata') },
  { name: 'by an absolute path', path: (place) => place.in('.aw/state'), verdict: 'ok' },
  {
    name: 'by a link to it',
    trap: (place) => place.link('.aw', 'x'),
    path: () => 'x/state',
    verdict: 'ok',
    naive: changed('metadata'),
  },
  {
    name: 'by a link into it',
    trap: (place) => place.link('.aw/state', 'x'),
    path: () => 'x',
    verdict: 'ok',
    naive: changed('metadata'),
  },
  {
    name: 'by a link to something new in it',
    trap: (place) => place.link('../.aw/new/er', 'd/x'),
    path: () => 'd/x',
    verdict: 'file_not_found',
  },
  { name: 'in capitals', path: () => '.AW/state', verdict: 'file_not_found' },
  { name: 'in full width', path: () => '.ａｗ/state', verdict: 'file_not_found' },
  { name: 'with what is not seen', path: () => '.a\u200dw/state', verdict: 'file_not_found' },
  { name: 'with a dot behind', path: () => '.aw./state', verdict: 'file_not_found' },
  { name: 'as a stream', path: () => '.aw::$INDEX_ALLOCATION/state', verdict: 'file_not_found' },
  { name: 'as a whole', path: () => '.aw', verdict: 'not_a_file' },
]

export const corpus: Readonly<Record<string, readonly Attack[]>> = {
  traversal,
  encodings,
  nul,
  absolute,
  siblings,
  links,
  'magic links': magic,
  'hard links': hardLinks,
  pipes,
  sockets,
  devices,
  huge,
  deep,
  'values that are not strings': values,
  'bind mounts': mounts,
  metadata,
}
