import { expect, it } from 'vitest'
import { toAwError } from '../../../domain/errors.ts'
import type { Fingerprint } from './fingerprint.ts'
import { inputFiles, keyOf, sourceHash } from './inputs.ts'

const file = (hash: string, mode = 0o644): string => `file ${mode} ${hash}`
const tree: Fingerprint = {
  complete: true,
  entries: new Map([
    ['work', 'directory 493'],
    ['work/.git', 'directory 493'],
    ['work/.git/index', file('i')],
    ['work/lock', file('l')],
    ['work/run', file('r', 0o755)],
    ['work/a', 'directory 493'],
    ['work/a/lock', file('al')],
    ['work/a/b', 'directory 493'],
    ['work/a/b/lock', file('abl')],
    ['work/link', 'symlink lock'],
    ['outside', file('o')],
  ]),
}

const meant = (...patterns: string[]): string[] => Object.keys(inputFiles(tree, patterns, 'aw')).toSorted()

it.each([
  [['lock'], ['lock']],
  [['./lock'], ['lock']],
  [['/lock'], ['lock']],
  [['*/lock'], ['a/lock']],
  [['**/lock'], ['a/b/lock', 'a/lock', 'lock']],
  [['a/'], ['a/b/lock', 'a/lock']],
  [['a'], ['a/b/lock', 'a/lock']],
  [
    ['link', 'run'],
    ['link', 'run'],
  ],
])('%j means %j', (patterns, files) => {
  expect(meant(...patterns)).toEqual(files)
})

it('a file is told by its hash and whether it may be run, a link by where it leads', () => {
  expect(inputFiles(tree, ['lock', 'run', 'link'], 'aw')).toEqual({ lock: 'l', run: 'r x', link: 'symlink lock' })
})

it.each(['none', '../outside', 'outside', 'a/b/lock/x', '[', ''])('%j means nothing, which is a mistake', (pattern) => {
  expect(() => meant('lock', pattern)).toThrow(expect.objectContaining({ code: 'invalid_input' }) as Error)
})

it('too many files are no inputs any more', () => {
  const many = Array.from({ length: 1001 }, (_, n) => [`work/${n}`, file(String(n))] as const)
  const error = (() => {
    try {
      return inputFiles({ complete: true, entries: new Map(many) }, ['*'], 'aw')
    } catch (thrown) {
      return toAwError(thrown)
    }
  })()
  expect(error).toMatchObject({ code: 'invalid_input' })
})

it('of a clone the commit tells, and not what git keeps for itself', () => {
  const git = { kind: 'git', url: 'https://example.com/x.git', ref: null, shallow: true, commit: 'c1' } as const
  const other = { ...tree, entries: new Map([...tree.entries, ['work/.git/index', file('j')]]) }
  expect(sourceHash(other, git, 'aw')).toBe(sourceHash(tree, git, 'aw'))
  expect(sourceHash(tree, { ...git, commit: 'c2' }, 'aw')).not.toBe(sourceHash(tree, git, 'aw'))
  const folder = { kind: 'folder', path: '/x' } as const
  expect(sourceHash(other, folder, 'aw')).not.toBe(sourceHash(tree, folder, 'aw'))
  expect(sourceHash({ ...tree, complete: false }, folder, 'aw')).toBeNull()
})

it('a key depends on everything that decides, and is none where that cannot be told', () => {
  const plan = {
    commands: ['npm ci'],
    inputs: ['lock'],
    isolation: 'namespace' as const,
    network: { mode: 'none' as const },
    limits: {},
    mount: '/workspace',
  }
  const given = { plan, profile: 'aw', files: { lock: 'l' }, source: 's', owner: null }
  const key = keyOf(given)
  expect(keyOf({ ...given, source: 'other' })).toBe(key)
  expect(keyOf({ ...given, plan: { ...plan, limits: { memory_mb: 1 } } })).toBe(key)
  const others = [
    { ...given, files: { lock: 'm' } },
    { ...given, owner: 61_000 },
    { ...given, profile: 'repo' },
    { ...given, plan: { ...plan, commands: ['npm', 'ci'] } },
    { ...given, plan: { ...plan, isolation: 'none' as const } },
    { ...given, plan: { ...plan, network: { mode: 'allowlist' as const, allow: ['npm'] } } },
    { ...given, plan: { ...plan, mount: '/mnt' } },
    { ...given, plan: { ...plan, inputs: [] } },
  ]
  expect(new Set([key, ...others.map(keyOf)]).size).toBe(others.length + 1)
  expect(keyOf({ ...given, plan: { ...plan, inputs: [] }, source: null })).toBeNull()
  expect(keyOf({ ...given, source: null })).toBe(key)
})
