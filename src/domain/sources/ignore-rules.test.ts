import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileGlob } from './glob.ts'
import { ignoreRules, parseIgnoreFile } from './ignore-rules.ts'

const leavesOut = (pattern: string, path: string, isDirectory = false): boolean =>
  ignoreRules([pattern]).verdict(path, isDirectory) === true

describe('a pattern', () => {
  it.each([
    ['name', 'deep/name', true],
    ['/name', 'deep/name', false],
    ['deep/*', 'deep/name', true],
    ['deep/*', 'deep/er/name', false],
    ['**/name', 'a/b/name', true],
    ['**/name', 'name', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**', 'a/x/y', true],
    ['a/**', 'a', false],
    ['*.o', 'src/x.o', true],
    ['[a-c]?', 'bx', true],
    ['[!a-c]?', 'bx', false],
    ['[[:digit:]]', '7', true],
    ['\\#a', '#a', true],
    ['#a', '#a', false],
    ['\\!a', '!a', true],
    ['a\\ ', 'a ', true],
    ['a ', 'a', true],
    ['a[', 'a[', false],
    ['a\\', 'a\\', false],
    ['größe', Buffer.from('größe').toString('latin1'), true],
  ])('%s and the path %s', (pattern, path, expected) => {
    expect(leavesOut(pattern, path)).toBe(expected)
  })

  it('with a slash at its end is for directories', () => {
    expect([leavesOut('a/', 'a'), leavesOut('a/', 'a', true), leavesOut('a/', 'x/a', true)]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('that comes later has the last word', () => {
    const rules = parseIgnoreFile('*.o\r\n!keep.o\n\n# !a.o\n')
    expect([rules.verdict('a.o', false), rules.verdict('keep.o', false), rules.verdict('a.c', false)]).toEqual([
      true,
      false,
      undefined,
    ])
  })

  it.each([
    ['/a/b/c', 'a', true],
    ['/a/b/c', 'a/b', true],
    ['/a/b/c', 'a/x', false],
    ['/a/*/c', 'a/x', true],
    ['/a/*/c', 'a/x/y', false],
    ['name', 'any/where', true],
    ['!name', 'any/where', false],
    ['/a/**', 'b', false],
  ])('%s could be for something below %s: %s', (pattern, directory, expected) => {
    expect(ignoreRules([pattern]).mayConcern(directory)).toBe(expected)
  })

  it('cannot be made to take long', () => {
    const text = `${'a'.repeat(4000)}b`
    for (const pattern of ['a*'.repeat(500), '*a'.repeat(500), `${'**/'.repeat(300)}*a*a*a*c`, '[a-z]*'.repeat(300)]) {
      const started = performance.now()
      compileGlob(pattern, true).matches(text)
      // Trying all the ways would take longer than the universe has been there.
      expect(performance.now() - started).toBeLessThan(20_000)
    }
  })
})

describe('git says the same', () => {
  const names = ['a', 'b', 'ab', 'a.b', '-', ' a', 'a ', '[', ']', '!a', '#a', '\\a', 'A', '\xff', '*']
  const paths: string[] = []
  let base: string
  const raw = (path: string): Buffer => Buffer.concat([Buffer.from(`${base}/`), Buffer.from(path, 'latin1')])

  beforeAll(() => {
    base = fs.mkdtempSync(join(tmpdir(), 'aw-ignore-'))
    for (const [i, name] of names.entries()) {
      if (i % 2 === 0) add(name, undefined)
      for (const below of i % 2 === 0 ? names.slice(0, 8) : []) {
        const isFile = below.length > 1
        add(`${name}/${below}`, isFile ? '' : undefined)
        for (const deep of isFile ? [] : ['a', 'ab', 'b']) add(`${name}/${below}/${deep}`, '')
      }
      if (i % 2 === 1) add(name, '')
    }
    git('init', '-q')
  })
  afterAll(() => fs.rmSync(base, { recursive: true }))

  function add(path: string, content: string | undefined): void {
    paths.push(path)
    if (content === undefined) fs.mkdirSync(raw(path))
    else fs.writeFileSync(raw(path), content)
  }

  const git = (...args: string[]) =>
    spawnSync('git', args, {
      cwd: base,
      input: Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1'),
      env: { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
      encoding: 'latin1',
    })

  const isDirectory = (path: string): boolean => fs.lstatSync(raw(path)).isDirectory()

  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...names) },
    { weight: 4, arbitrary: fc.constantFrom('/', '*', '**', '**/', '/**', '/**/', '?', '!') },
    {
      weight: 2,
      arbitrary: fc.constantFrom('[a-c]', '[!b]', '[^a]', '[]a]', '[a', '[[:alpha:]]', '[[:no:]]', '[\\]a]'),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('[a-', '[!-~]', '[[:a]', '[:a:]', '\\', '\\*', '\\ ', ' ', '#', '\r', '\t'),
    },
  )
  const line = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
  const file = fc.array(line, { maxLength: 5 }).map((lines) => lines.join('\n'))

  it('about random patterns', () => {
    let found = 0
    fc.assert(
      fc.property(file, (text) => {
        fs.writeFileSync(join(base, '.gitignore'), Buffer.from(text, 'latin1'))
        const told = git('check-ignore', '-z', '--stdin', '--no-index').stdout.split('\0').filter(Boolean)
        const rules = parseIgnoreFile(text)
        const isOut = (path: string): boolean => {
          const above = path.slice(0, Math.max(0, path.lastIndexOf('/')))
          return (above !== '' && isOut(above)) || rules.verdict(path, isDirectory(path)) === true
        }
        found += told.length
        expect(paths.filter(isOut)).toEqual(told)
      }),
      { numRuns: 400 },
    )
    expect(found).toBeGreaterThan(1000)
  }, 120_000)
})
