/** What people have put into archives to do harm, or what readers disagree about. */
import { bytesOf } from '../../support/tree.ts'
import type { Place } from './fixture.ts'
import { binary, directory, entry, file, global, hardlink, symlink, tarOf } from './tar.ts'

interface Attack {
  readonly name: string
  readonly archive: (place: Place) => Buffer
  /** Why the whole is refused; or what is made of it. */
  readonly aw: string | Readonly<Record<string, string>>
  /** How plain tar ends, and what it leaves. */
  readonly tar: Ending
  /** The same, where another process was given the inode number that tar knows its placeholder by. */
  readonly tarAmongOthers?: Ending
}

type Ending = readonly [status: number, tree: Readonly<Record<string, string>>]

const sparse = (map: string, records: Readonly<Record<string, string>> = {}): Buffer => {
  const pax = {
    'GNU.sparse.major': '1',
    'GNU.sparse.minor': '0',
    'GNU.sparse.name': 's',
    'GNU.sparse.realsize': '100',
    ...records,
  }
  return entry({ name: 'GNUSparseFile.0/s', pax, content: `${map.padEnd(512, '\0')}DATA` })
}

/** Out of the tree. Tar refuses these too, but for absolute names, which it puts elsewhere than they say. */
const ways: readonly Attack[] = [
  { name: 'a path with ..', archive: () => tarOf(file('../out')), aw: 'path', tar: [2, {}] },
  {
    name: '.. behind a directory',
    archive: () => tarOf(directory('d'), file('d/../../out')),
    aw: 'path',
    tar: [2, { d: '/' }],
  },
  { name: 'an absolute path', archive: () => tarOf(file('/out')), aw: 'path', tar: [0, { out: '/out' }] },
  {
    name: '.. in an extended header',
    archive: () => tarOf(entry({ name: 'ok', pax: { path: '../out' } })),
    aw: 'path',
    tar: [2, {}],
  },
  {
    name: '.. in a long name',
    archive: () => tarOf(entry({ name: 'ok', longName: '../out' })),
    aw: 'path',
    tar: [2, {}],
  },
  {
    name: '.. for all entries at once',
    archive: () => tarOf(global({ path: '../out' }), file('x')),
    aw: 'extended_header',
    tar: [2, {}],
  },
  {
    name: '.. as the name of a file with holes',
    archive: () => tarOf(sparse('1\n10\n4\n', { 'GNU.sparse.name': '../out' })),
    aw: 'path',
    tar: [2, {}],
  },
  {
    name: 'a file through a link that leads out',
    archive: () => tarOf(symlink('l', '../outside'), file('l/secret')),
    aw: 'through_link',
    tar: [2, { l: '-> ../outside' }],
  },
  {
    name: 'a file through a link with an absolute target',
    archive: ({ outside }) => tarOf(symlink('l', outside), file('l/secret')),
    aw: 'through_link',
    tar: [2, { l: '-> OUTSIDE' }],
  },
  {
    name: 'a directory that becomes a link that leads out',
    archive: () => tarOf(directory('d'), symlink('d', '../outside'), file('d/secret')),
    aw: 'duplicate',
    tar: [2, { d: '-> ../outside' }],
  },
  {
    name: 'a link that leads out and becomes a directory',
    archive: () => tarOf(symlink('d', '../outside'), directory('d'), file('d/secret')),
    aw: 'through_link',
    tar: [2, { d: '/', 'd/secret': 'd/secret' }],
    tarAmongOthers: [0, { d: '/', 'd/secret': 'd/secret' }],
  },
  {
    name: 'a hard link to an absolute path',
    archive: ({ outside }) => tarOf(hardlink('h', `${outside}/secret`), file('h', 'x')),
    aw: 'path',
    tar: [2, { h: 'x' }],
  },
  {
    name: 'a hard link with ..',
    archive: () => tarOf(hardlink('h', '../outside/secret'), file('h', 'x')),
    aw: 'path',
    tar: [2, { h: 'x' }],
  },
  {
    name: 'a hard link with .. in an extended header',
    archive: () => tarOf(entry({ name: 'h', type: '1', linkName: 'x', pax: { linkpath: '../outside/secret' } })),
    aw: 'path',
    tar: [2, {}],
  },
  {
    name: 'a hard link with .. in a long name',
    archive: () => tarOf(entry({ name: 'h', type: '1', longLink: '../outside/secret' })),
    aw: 'path',
    tar: [2, {}],
  },
  {
    name: 'a hard link through a chain of links that leads out',
    archive: () => tarOf(symlink('a', '../outside'), symlink('b', 'a'), hardlink('h', 'b/secret'), file('h', 'x')),
    aw: 'link',
    tar: [2, { a: '-> ../outside', b: '-> a', h: 'x' }],
  },
  {
    name: 'a file over a hard link to a link that leads out',
    archive: () => tarOf(symlink('s', '../outside/secret'), hardlink('h', 's'), file('h', 'x')),
    aw: 'duplicate',
    tar: [0, { h: '-> ../outside/secret', s: '-> ../outside/secret' }],
    tarAmongOthers: [0, { h: 'x', s: '-> ../outside/secret' }],
  },
]

/** Inside the tree. Tar does all of these as it is told. */
const inside: readonly Attack[] = [
  {
    name: 'a file through a link replaces another one',
    archive: () => tarOf(directory('d'), file('d/f', 'first'), symlink('l', 'd'), file('l/f', 'second')),
    aw: 'through_link',
    tar: [0, { d: '/', 'd/f': 'second', l: '-> d' }],
  },
  {
    name: 'a directory becomes a link, and a file goes through it',
    archive: () => tarOf(directory('o'), directory('d'), symlink('d', 'o'), file('d/f')),
    aw: 'duplicate',
    tar: [0, { d: '-> o', o: '/', 'o/f': 'd/f' }],
  },
  {
    name: 'a link becomes a directory',
    archive: () => tarOf(directory('o'), symlink('d', 'o'), directory('d'), file('d/f')),
    aw: 'through_link',
    tar: [0, { d: '/', 'd/f': 'd/f', o: '/' }],
  },
  {
    name: 'a hard link through a link',
    archive: () => tarOf(directory('d'), file('d/f'), symlink('l', 'd'), hardlink('h', 'l/f')),
    aw: 'link',
    tar: [0, { d: '/', 'd/f': 'd/f', h: '= d/f', l: '-> d' }],
  },
  {
    name: 'a hard link to itself',
    archive: () => tarOf(file('h'), hardlink('h', 'h')),
    aw: 'link',
    tar: [0, { h: 'h' }],
  },
  {
    name: 'a hard link to a directory',
    archive: () => tarOf(directory('d'), hardlink('h', 'd')),
    aw: 'link',
    tar: [2, { d: '/' }],
  },
  { name: 'a hard link to nothing', archive: () => tarOf(hardlink('h', 'x')), aw: 'link', tar: [2, {}] },
  {
    name: 'a file becomes a directory',
    archive: () => tarOf(file('x'), directory('x'), file('x/y')),
    aw: 'duplicate',
    tar: [0, { x: '/', 'x/y': 'x/y' }],
  },
  {
    name: 'a file is there twice: the last one counts, and another name keeps the first',
    archive: () => tarOf(file('x', 'one'), hardlink('y', 'x'), file('x', 'two')),
    aw: { x: 'two', y: 'one' },
    tar: [0, { x: 'two', y: 'one' }],
  },
  {
    name: 'names that look the same are two names',
    archive: () => tarOf(...['\u00e9', 'e\u0301', 'A', 'a'].map((name) => file(bytesOf(name), name))),
    aw: { A: 'A', a: 'a', [bytesOf('\u00e9')]: bytesOf('\u00e9'), [bytesOf('e\u0301')]: bytesOf('e\u0301') },
    tar: [0, { A: 'A', a: 'a', [bytesOf('\u00e9')]: bytesOf('\u00e9'), [bytesOf('e\u0301')]: bytesOf('e\u0301') }],
  },
]

/** Names and numbers. */
const headers: readonly Attack[] = [
  { name: 'no name', archive: () => tarOf(entry({ name: '', content: 'c' })), aw: 'path', tar: [2, {}] },
  {
    name: 'no name in an extended header',
    archive: () => tarOf(entry({ name: 'ok', pax: { path: '' } })),
    aw: 'path',
    tar: [2, {}],
  },
  { name: 'a file as the top', archive: () => tarOf(entry({ name: '.', content: 'c' })), aw: 'path', tar: [2, {}] },
  {
    name: 'a NUL in a name',
    archive: () => tarOf(entry({ name: 'ok', content: 'c', pax: { path: 'a\0b' } })),
    aw: 'path',
    tar: [0, { a: 'c' }],
  },
  { name: 'a slash behind a file', archive: () => tarOf(entry({ name: 'f/' })), aw: { f: '/' }, tar: [0, { f: '/' }] },
  {
    name: 'a slash behind a file with content',
    archive: () => tarOf(entry({ name: 'f/', content: 'content' })),
    aw: 'header',
    tar: [2, { f: '/' }],
  },
  {
    name: 'a negative size',
    archive: () => tarOf(file('x'), entry({ name: 'n', raw: { 124: binary(-512n, 12) } }), file('y')),
    aw: 'number',
    tar: [2, { x: 'x', y: 'y' }],
  },
  {
    name: 'a negative size in an extended header',
    archive: () => tarOf(entry({ name: 'n', content: 'c', pax: { size: '-1' } })),
    aw: 'number',
    tar: [2, { n: 'c' }],
  },
  {
    name: 'a binary size',
    archive: () => tarOf(entry({ name: 'n', content: 'c', raw: { 124: binary(1n, 12) } }), file('x')),
    aw: { n: 'c', x: 'x' },
    tar: [0, { n: 'c', x: 'x' }],
  },
  {
    name: 'a size beyond all disks',
    archive: () => tarOf(entry({ name: 'n', raw: { 124: binary(2n ** 62n, 12) } })),
    aw: 'number',
    tar: [2, { n: '\0'.repeat(40) }],
  },
  {
    name: 'a size that is no number',
    archive: () => tarOf(entry({ name: 'n', raw: { 124: '0000000x000\0' } }), file('x')),
    aw: 'number',
    tar: [2, { x: 'x' }],
  },
  {
    name: 'a size beyond the end',
    archive: () => entry({ name: 'n', size: 100_000, content: 'short' }),
    aw: 'truncated',
    tar: [2, { n: 'short'.padEnd(40, '\0') }],
  },
  {
    name: 'a size in an extended header that hides an entry',
    archive: () => tarOf(entry({ name: 'n', size: 0, content: '', pax: { size: '1024' } }), file('hidden')),
    aw: { n: 'hidden'.padEnd(40, '\0') },
    tar: [0, { n: 'hidden'.padEnd(40, '\0') }],
  },
  {
    name: 'a link with a size: is the next entry its data?',
    archive: () => tarOf(entry({ name: 'l', type: '2', linkName: 't', size: 512 }), file('x')),
    aw: 'header',
    tar: [0, { l: '-> t', x: 'x' }],
  },
  {
    name: 'a hard link with a size',
    archive: () => tarOf(file('x'), entry({ name: 'h', type: '1', linkName: 'x', size: 512 }), file('y')),
    aw: 'header',
    tar: [0, { h: 'x', x: '= h', y: 'y' }],
  },
  {
    name: 'a wrong sum',
    archive: () => tarOf(file('x'), entry({ name: 'bad', raw: { 148: '000001\0 ' } }), file('y')),
    aw: 'header',
    tar: [2, { x: 'x', y: 'y' }],
  },
  {
    name: 'an unknown kind',
    archive: () => tarOf(entry({ name: 'u', type: 'Q', content: 'c' })),
    aw: 'unsupported_entry',
    tar: [0, { u: 'c' }],
  },
  {
    name: 'an owner that means "as it is" to the kernel',
    archive: () => tarOf(entry({ name: 'x', content: 'c', pax: { uid: '4294967295' } })),
    aw: 'number',
    tar: [0, { x: 'c' }],
  },
  {
    name: 'two extended headers',
    archive: () =>
      tarOf(entry({ name: 'ok', pax: { path: 'a' } }).subarray(0, 1024), entry({ name: 'ok', pax: { path: 'b' } })),
    aw: 'header',
    tar: [0, { b: '' }],
  },
]

/** Where it ends, and what is behind that. */
const ends: readonly Attack[] = [
  {
    name: 'several archives in one file',
    archive: () => Buffer.concat([tarOf(file('one')), tarOf(file('two'))]),
    aw: 'trailing',
    tar: [0, { one: 'one' }],
  },
  { name: 'no end', archive: () => file('one'), aw: 'truncated', tar: [0, { one: 'one' }] },
  {
    name: 'something behind the end',
    archive: () => Buffer.concat([tarOf(file('one')), Buffer.alloc(512), Buffer.alloc(512, 'x')]),
    aw: 'trailing',
    tar: [0, { one: 'one' }],
  },
]

/** Maps of holes. */
const holes: readonly Attack[] = [
  {
    name: 'data behind the end of a file',
    archive: () => tarOf(sparse('1\n1000\n4\n')),
    aw: 'sparse_map',
    tar: [0, { s: '\0'.repeat(40) }],
  },
  {
    name: 'more data than there is',
    archive: () => tarOf(sparse('1\n0\n90\n')),
    aw: 'sparse_map',
    tar: [0, { s: 'DATA'.padEnd(40, '\0') }],
  },
  {
    name: 'parts in the wrong order',
    archive: () => tarOf(sparse('2\n10\n2\n0\n2\n')),
    aw: 'sparse_map',
    tar: [0, { s: '\0'.repeat(10) + 'DA' }],
  },
  {
    name: 'more parts than numbers',
    archive: () => tarOf(sparse('99999999999999999999\n')),
    aw: 'sparse_map',
    tar: [2, { s: '' }],
  },
  { name: 'a million parts', archive: () => tarOf(sparse('1000000\n')), aw: 'sparse_map', tar: [2, { s: '' }] },
  { name: 'a negative offset', archive: () => tarOf(sparse('1\n-5\n4\n')), aw: 'sparse_map', tar: [2, { s: '' }] },
  {
    name: 'an offset beyond all files',
    archive: () => tarOf(sparse('1\n9223372036854775807\n4\n')),
    aw: 'sparse_map',
    tar: [2, { s: '' }],
  },
  {
    name: 'a size beyond all files',
    archive: () => tarOf(sparse('1\n10\n4\n', { 'GNU.sparse.realsize': '99999999999999999999' })),
    aw: 'number',
    tar: [2, { s: `${'\0'.repeat(10)}DATA` }],
  },
  {
    name: 'a size beyond this file system',
    archive: () => tarOf(sparse('1\n10\n4\n', { 'GNU.sparse.realsize': '9007199254740991' })),
    aw: 'number',
    tar: [0, { s: `${'\0'.repeat(10)}DATA` }],
  },
]

export const attacks: readonly Attack[] = [...ways, ...inside, ...headers, ...ends, ...holes]
