/**
 * The checks that everybody writes first. Each lets something through; the corpus shows what. They are here to prove
 * that its cases are dangerous, and for nothing else.
 */
import * as fs from 'node:fs'
import { join, resolve } from 'node:path'
import { addonCalls } from '../../src/sys/syscalls/calls-addon.ts'
import { AT_FDCWD } from '../../src/sys/syscalls/native.ts'
import { numbers } from '../../src/sys/syscalls/syscall-numbers.ts'

export type Check = (root: string, path: string) => string

const refuse = (): never => {
  throw new Error('refused')
}

/** Looks at how the path begins. */
const beginning: Check = (root, path) => (path.startsWith('..') || path.startsWith('/') ? refuse() : join(root, path))

/** Compares whole names, and knows nothing of links. */
const separator: Check = (root, path) => (resolve(root, path).startsWith(`${root}/`) ? resolve(root, path) : refuse())

export const checks = {
  /** Takes "../" away and trusts the rest. */
  stripped: (root, path) => join(root, path.replaceAll('../', '')),
  beginning,
  /** Looks for dots, forgets that resolving takes an absolute path as it is. */
  noDots: (root, path) => (path.includes('..') ? refuse() : resolve(root, path)),
  /** Compares strings: a sibling whose name begins alike passes. */
  prefix: (root, path) => (resolve(root, path).startsWith(root) ? resolve(root, path) : refuse()),
  separator,
  /** Resolves links first, and opens later. */
  realpath: (root, path) =>
    `${fs.realpathSync.native(join(root, path))}/`.startsWith(`${root}/`) ? join(root, path) : refuse(),
  /** Checks, then decodes. */
  decodes: (root, path) => decodeURIComponent(beginning(root, path)),
  /** Checks, then brings Unicode into one form. */
  normalizes: (root, path) => separator(root, path).normalize('NFKC'),
  /** Asks whether dots are "included" in what may be an array, then makes it a string. */
  untyped: (root, path) => (path.includes('..') ? refuse() : `${root}/${path}`),
  /** Checks one reading of the value and uses another. */
  twice: (root, path) => ([path].join('').includes('..') ? refuse() : `${root}/${path}`),
  /** Keeps its own directory closed by comparing its name. */
  metadata: (root, path) => (path.startsWith('.aw') ? refuse() : join(root, path)),
} as const satisfies Record<string, Check>

export type CheckName = keyof typeof checks

export const operations = {
  read: (path) => fs.readFileSync(path),
  write: (path) => fs.writeFileSync(path, 'changed'),
  /** Atomic, and blind to what it replaces. */
  replace: (path) => {
    fs.writeFileSync(`${path}.tmp`, 'changed')
    fs.renameSync(`${path}.tmp`, path)
  },
  list: (path) => fs.readdirSync(path),
  /** Follows links, as a listing by `stat` does. */
  tree: (path) => fs.readdirSync(path, { recursive: true }),
  remove: (path) => fs.rmSync(path, { recursive: true }),
  /** Goes down by longer and longer paths. */
  removeAll,
  /** Hands the path to C, where a string ends at its first NUL. Only names that end in .txt are allowed. */
  readText: (path) => {
    if (!path.endsWith('.txt')) return refuse()
    const fd = openInC(path)
    if (fd < 0) return refuse()
    try {
      return fs.readFileSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  },
} as const satisfies Record<string, (path: string) => unknown>

/** For reading; the structure says so with zeros. */
function openInC(path: string): number {
  const processor = process.arch === 'arm64' ? 'arm64' : 'x64'
  const how = Buffer.alloc(24)
  return addonCalls(processor).call(numbers[processor].openat2, AT_FDCWD, Buffer.from(`${path}\0`), how, how.length)
}

function removeAll(path: string): void {
  for (const name of fs.readdirSync(path)) removeAll(join(path, name))
  fs.rmdirSync(path)
}

export type NaiveOperation = keyof typeof operations

export const naive = (check: CheckName, operation: NaiveOperation, root: string, path: string): unknown =>
  operations[operation](checks[check](root, path))
