import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { folderRules, type FolderRules, type FolderRulesOptions, type Verdict } from './folder-rules.ts'

let base: string
beforeEach(() => (base = fs.mkdtempSync(join(tmpdir(), 'aw-rules-'))))
afterEach(() => fs.rmSync(base, { recursive: true }))

function make(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    fs.mkdirSync(join(base, path, '..'), { recursive: true })
    fs.writeFileSync(join(base, path), text)
  }
}

const reading =
  (directory: string) =>
  (path: string): string | undefined => {
    const file = join(base, directory, path)
    return fs.existsSync(file) && fs.lstatSync(file).isFile() ? fs.readFileSync(file, 'latin1') : undefined
  }

/** The paths that are taken; a directory that is `perhaps` only with something in it. */
function taken(options: FolderRulesOptions): string[] {
  const found: string[] = []
  const visit = (prefix: string, rules: FolderRules | undefined): void => {
    for (const entry of fs.readdirSync(join(base, prefix), { withFileTypes: true })) {
      const isDirectory = entry.isDirectory()
      const verdict: Verdict = rules?.verdict(entry.name, isDirectory) ?? 'in'
      if (verdict === 'out') continue
      if (verdict === 'in') found.push(prefix + entry.name)
      const path = `${prefix}${entry.name}/`
      if (isDirectory) visit(path, rules?.below(entry.name, verdict, reading(path)))
    }
  }
  visit('', folderRules(options, reading('')))
  return found.filter((path) => !/(^|\/)\.git(\/|$)/.test(path)).toSorted()
}

const project = {
  '.gitignore': 'out/\n*.log\n.env*\n/only-here\n',
  '.worktreeinclude': '.env\nout/cache/\n',
  '.env': 'secret',
  '.env.local': 'secret',
  'a.log': '',
  'only-here': '',
  'out/cache/x': '',
  'out/cache/deep/y': '',
  'out/built': '',
  'src/a.c': '',
  'src/.env': '',
  'src/only-here': '',
  'src/.gitignore': '!keep.log\ngen/\n',
  'src/keep.log': '',
  'src/gen/x.c': '',
}

describe('what is left out of a folder', () => {
  it('is nothing, if nobody says so', () => {
    make(project)
    expect(folderRules({}, reading(''))).toBeUndefined()
    expect(taken({})).toHaveLength(Object.keys(project).length + 5)
  })

  it('is what git ignores', () => {
    make(project)
    const kept = ['.gitignore', '.worktreeinclude', 'src', 'src/.gitignore', 'src/a.c', 'src/keep.log', 'src/only-here']
    expect(taken({ ignored: 'none' })).toEqual(kept)
  })

  it('is what git ignores, but for what is listed', () => {
    make(project)
    const more = ['.env', 'out/cache', 'out/cache/deep', 'out/cache/deep/y', 'out/cache/x', 'src/.env']
    expect(taken({ ignored: 'listed' })).toEqual([...taken({ ignored: 'none' }), ...more].toSorted())
  })

  it('is what the caller excludes, listed or not', () => {
    make(project)
    expect(taken({ exclude: ['/src/**', '!src/a.c', 'out'] }).filter((path) => /^(src|out)/.test(path))).toEqual([
      'src',
      'src/a.c',
    ])
    expect(taken({ exclude: ['.env'], ignored: 'listed' })).not.toContain('.env')
  })

  it('is never the repository, whatever is ignored', () => {
    make({ '.gitignore': '*\n', '.git/HEAD': 'ref: refs/heads/main\n', a: '' })
    const rules = folderRules({ ignored: 'none' }, reading(''))
    expect([rules?.verdict('.git', true), rules?.verdict('a', false)]).toEqual(['in', 'out'])
    expect(folderRules({ exclude: ['.git'] }, reading(''))?.verdict('.git', true)).toBe('out')
  })

  it.each([
    ['of version 2', []],
    ['of version 3', ['update-index', '--skip-worktree', 'out/kept/a']],
    ['of version 4', ['update-index', '--index-version', '4']],
    ['that is split', ['update-index', '--split-index']],
  ])('is nothing that git tracks, with an index %s', (_, then) => {
    make({ '.gitignore': 'out/\n*.log\nown\n', '.worktreeinclude': 'out/cache\n', 'a.log': '', 'b.log': '' })
    make({
      'out/kept/a': '',
      'out/kept/b': '',
      'out/cache/x': '',
      'own/.gitignore': '*.tmp\n',
      'own/a': '',
      'own/b.tmp': '',
    })
    for (const sha of ['sha1', 'sha256']) {
      fs.rmSync(join(base, '.git'), { recursive: true, force: true })
      git('init', '-q', `--object-format=${sha}`)
      git('add', '-f', 'a.log', 'out/kept/a')
      // As a submodule is: git tracks that it is there.
      make({ 'own/.git/HEAD': '' })
      git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(sha === 'sha1' ? 40 : 64)},own`)
      if (then.length > 0) git(...then)
      const kept = ['.gitignore', '.worktreeinclude', 'a.log', 'out/kept/a', 'own', 'own/.gitignore', 'own/a']
      expect(taken({ ignored: 'none' })).toEqual(kept)
      expect(taken({ ignored: 'listed' })).toEqual([...kept, 'out/cache', 'out/cache/x'].toSorted())
      expect(taken({ ignored: 'none', exclude: ['out'] })).not.toContain('out/kept/a')
    }
  })

  it('is told in the end, whatever an index says of itself', () => {
    make({ '.gitignore': '*.log\n', 'a.log': '', '.git/HEAD': '' })
    // A shared index that adds to itself.
    const id = Buffer.alloc(20, 1)
    const link = Buffer.concat([Buffer.from('link\0\0\0\x14', 'latin1'), id, Buffer.alloc(20)])
    const split = Buffer.concat([Buffer.from('DIRC\0\0\0\x02\0\0\0\0', 'latin1'), link]).toString('latin1')
    fs.writeFileSync(join(base, '.git/index'), split, 'latin1')
    fs.writeFileSync(join(base, `.git/sharedindex.${id.toString('hex')}`), split, 'latin1')
    expect(taken({ ignored: 'none' })).toEqual(['.gitignore'])
    // Of version 4, each path a little longer than the one before it.
    const entry = Buffer.alloc(62 + 1 + 9 + 1)
    entry.write('/a234567', 63, 'latin1')
    const entries = Array.from({ length: 1000 }, (_, i) => {
      const one = Buffer.from(entry)
      one.writeUInt16BE(Math.min((i + 1) * 8, 0xfff), 60)
      return one.subarray(0, 72)
    })
    const counted = Buffer.from('DIRC\0\0\0\x04\0\0\x03\xe8', 'latin1')
    fs.writeFileSync(join(base, '.git/index'), Buffer.concat([counted, ...entries, Buffer.alloc(20)]))
    expect(() => taken({ ignored: 'none' })).toThrow('its .git/index cannot be read')
  })

  it('cannot be told if nobody knows what git tracks', () => {
    make({ '.git/HEAD': '', '.git/index': 'DIRC' })
    expect(() => taken({ ignored: 'none' })).toThrow('its .git/index cannot be read')
    expect(taken({ exclude: ['x'] })).toEqual([])
  })

  it('is left to a repository inside it', () => {
    make({ '.gitignore': '*.log\n', 'own/.git/HEAD': '', 'own/.git/info/exclude': '*.tmp\n' })
    make({
      'own/a.log': '',
      'own/a.tmp': '',
      'linked/.git': 'gitdir: elsewhere\n',
      'linked/a.log': '',
      'plain/a.log': '',
    })
    const kept = taken({ ignored: 'none' })
    expect(kept).toEqual(['.gitignore', 'linked', 'linked/a.log', 'own', 'own/a.log', 'plain'])
  })
})

function git(...args: string[]): string {
  const env = { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  const { stdout, stderr, status } = spawnSync('git', args, {
    cwd: base,
    input: paths.join('\0'),
    env,
    encoding: 'utf8',
  })
  // check-ignore ends with 1 if nothing is.
  if (status !== 0 && args[0] !== 'check-ignore') throw new Error(stderr)
  return stdout
}

const paths = ['a', 'b', 'd', 'd/a', 'd/b', 'd/e', 'd/e/a', 'd/e/c', 'f', 'f/a', 'f/e', 'f/e/b']
const line = fc.oneof(
  fc.constantFrom(
    'a',
    '/a',
    '!a',
    'e/',
    '!e/',
    '/e',
    '*',
    '!*',
    'd/a',
    'e/a',
    '!e/a',
    '**/a',
    'd/**',
    '!d/',
    'f/*',
    '!f/e',
  ),
  fc.constantFrom('b', '!b', '[ab]', '?', '!?', 'c', '# a', ''),
)
const file = fc.array(line, { maxLength: 4 }).map((lines) => lines.join('\n'))

it('git says the same about lists in several directories', () => {
  make(Object.fromEntries(['a', 'b', 'd/a', 'd/b', 'd/e/a', 'd/e/c', 'f/a', 'f/e/b'].map((path) => [path, ''])))
  git('init', '-q')
  let found = 0
  fc.assert(
    fc.property(file, file, file, file, (top, inner, deep, info) => {
      make({ '.gitignore': top, 'd/.gitignore': inner, 'd/e/.gitignore': deep, '.git/info/exclude': info })
      const told = git('check-ignore', '-z', '--stdin', '--no-index').split('\0').filter(Boolean)
      found += told.length
      const left = taken({ ignored: 'none' })
      expect(paths.filter((path) => !left.includes(path))).toEqual(told)
    }),
    { numRuns: 300 },
  )
  expect(found).toBeGreaterThan(300)
}, 120_000)
