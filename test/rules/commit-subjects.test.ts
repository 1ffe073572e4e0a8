/** The subject of a commit fits on one line of `git log`; the why goes into the body. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './source-tree.ts'

const most = 72

/** The rule holds from the commit on that added this file. */
const rule = 'test/rules/commit-subjects.test.ts'

/** Merges aside. What others commit on branches that do not have the rule yet is not held to it. */
function subjects(checkout: string): string[] {
  const log = (...args: readonly string[]): string[] => git(checkout, 'log', '--no-merges', ...args)
  const first = log('--diff-filter=A', '--format=%H', '--', rule).at(-1)
  if (first === undefined) return []
  const later = log('--format=%s', '--ancestry-path', `${first}..HEAD`)
  return isCutOff(checkout, first) ? later : [...later, ...log('--format=%s', '-1', first)]
}

/** The oldest commit of a shallow clone has lost its parents: nobody can tell whether it is a merge, or adds anything. */
function isCutOff(checkout: string, commit: string): boolean {
  const [file = ''] = git(checkout, 'rev-parse', '--git-path', 'shallow')
  const path = resolve(checkout, file)
  return existsSync(path) && readFileSync(path, 'utf8').includes(commit)
}

/** The checkout may belong to another user, and may be tested from one of its own hooks. */
function git(checkout: string, ...args: readonly string[]): string[] {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
  const settings = [
    'safe.directory=*',
    'user.name=a',
    'user.email=a@example',
    'core.hooksPath=/dev/null',
    'log.showSignature=false',
  ]
  const given = [...settings.flatMap((setting) => ['-c', setting]), ...args]
  const output = execFileSync('git', given, { cwd: checkout, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return output.split('\n').filter((line) => line !== '')
}

const tooLong = (subject: string): string[] =>
  subject.length > most ? [`${subject}: ${subject.length} characters, and ${most} are the most`] : []

test('commit subjects have at most 72 characters', () => {
  // A tarball has no history to check.
  const history = existsSync(join(root, '.git')) ? subjects(root) : []
  expect(history.flatMap(tooLong)).toEqual([])
})

test('the rule finds a long subject', () => {
  expect(tooLong('a'.repeat(most))).toEqual([])
  expect(tooLong('a'.repeat(most + 1))).toHaveLength(1)
})

test('the rule reads the history from the commit on that added it, without merges', () => {
  const checkout = mkdtempSync(join(tmpdir(), 'aw-subjects-'))
  try {
    const commit = (subject: string) => git(checkout, 'commit', '-q', '--allow-empty', '--no-gpg-sign', '-m', subject)
    git(checkout, 'init', '-q', '-b', 'main')
    commit('before')
    expect(subjects(checkout)).toEqual([])
    git(checkout, 'branch', 'other')
    mkdirSync(dirname(join(checkout, rule)), { recursive: true })
    writeFileSync(join(checkout, rule), '')
    git(checkout, 'add', '.')
    commit('adds the rule')
    git(checkout, 'checkout', '-q', 'other')
    commit('does not know the rule')
    git(checkout, 'checkout', '-q', 'main')
    git(checkout, 'merge', '-q', '--no-gpg-sign', '-m', 'merges', 'other')
    commit('after')
    expect(subjects(checkout)).toEqual(['after', 'adds the rule'])
    // As where a pull request is tested: the last commit alone, and that is a merge with a long subject.
    git(checkout, 'checkout', '-q', '-b', 'pull', 'HEAD^')
    git(checkout, 'merge', '-q', '--no-ff', '--no-gpg-sign', '-m', `Merge ${'a'.repeat(most)}`, 'main')
    git(checkout, 'clone', '-q', '--depth=1', '-b', 'pull', `file://${checkout}`, 'shallow')
    expect(subjects(join(checkout, 'shallow'))).toEqual([])
  } finally {
    rmSync(checkout, { recursive: true })
  }
})
