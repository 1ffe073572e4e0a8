import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AwError } from './errors.ts'
import {
  adaptPrompt,
  compareNames,
  foldName,
  isTemporaryName,
  parsePath,
  quotePath,
  temporaryName,
  workspacePaths,
} from './paths.ts'

const codeOf = (path: unknown, options?: Parameters<typeof parsePath>[1]): string => {
  try {
    return parsePath(path, options).names.join('/')
  } catch (error) {
    return error instanceof AwError ? error.code : String(error)
  }
}

describe('a path', () => {
  test.each([
    ['a', 'a'],
    ['a//b/./c/', 'a/b/c'],
    ['', ''],
    ['.', ''],
    ['a/../b', 'a/../b'],
    ['foo..bar', 'foo..bar'],
    ['...', '...'],
    ['a\\..\\b', 'a\\..\\b'],
    ['%2e%2e/x', '%2e%2e/x'],
    ['é/ü', 'é/ü'],
  ])('%j is %j', (path, names) => expect(codeOf(path)).toBe(names))

  test.each([
    [undefined, 'invalid_path'],
    [null, 'invalid_path'],
    [7, 'invalid_path'],
    [['a'], 'invalid_path'],
    [Buffer.from('a'), 'invalid_path'],
    [new URL('file:///a'), 'invalid_path'],
    [{ toString: () => 'a' }, 'invalid_path'],
    ['a\0b', 'invalid_path_null_byte'],
    ['a\nb', 'invalid_path'],
    ['\u009b31m', 'invalid_path'],
    ['\ud800', 'invalid_path'],
    ['../a', 'path_traversal_attempt'],
    ['a/../../b', 'path_traversal_attempt'],
    ['..', 'path_traversal_attempt'],
    ['a'.repeat(256), 'path_too_long'],
    ['é'.repeat(128), 'path_too_long'],
    ['a/'.repeat(2049), 'path_too_long'],
  ])('%j is %s', (path, code) => expect(codeOf(path)).toBe(code))

  test('4096 bytes and names of 255 are still fine', () => {
    expect(codeOf('a/'.repeat(2048))).toHaveLength(4095)
    expect(codeOf('a'.repeat(255))).toHaveLength(255)
  })

  test('knows when only a directory is meant', () => {
    const meant = ['a/', 'a/.', 'a/..', '', '.', '/', 'a', 'a.', 'a..', '.a'].map(
      (path) => parsePath(path, { absolute: 'rebase' }).directory,
    )
    expect(meant).toEqual([true, true, true, true, true, true, false, false, false, false])
  })

  test('the root itself can be refused', () => {
    expect(codeOf('./', { root: false })).toBe('invalid_path')
    expect(codeOf('a', { root: false })).toBe('a')
  })
})

describe('an absolute path', () => {
  const roots = ['/srv/ws', '/mnt/workspace/']

  test.each([
    ['/srv/ws/a', 'a'],
    ['/srv/ws', ''],
    ['//srv/./ws//a', 'a'],
    ['/mnt/workspace/a', 'a'],
    ['/srv/ws-evil/a', 'path_outside_workspace'],
    ['/srv', 'path_outside_workspace'],
    ['/', 'path_outside_workspace'],
    ['/srv/ws/../x', 'path_traversal_attempt'],
  ])('%s, if inside is accepted, is %j', (path, names) => expect(codeOf(path, { roots })).toBe(names))

  test('is refused when asked to', () => {
    expect(codeOf('/srv/ws/a', { roots, absolute: 'reject' })).toBe('absolute_path_not_allowed')
  })

  test('is taken as relative when asked to, and says so', () => {
    expect(parsePath('/etc/passwd', { roots, absolute: 'rebase' })).toMatchObject({
      names: ['etc', 'passwd'],
      rebased: true,
    })
    expect(parsePath('/srv/ws/a', { roots, absolute: 'rebase' })).toMatchObject({ names: ['a'], rebased: false })
    expect(codeOf('/../etc', { roots, absolute: 'rebase' })).toBe('path_traversal_attempt')
  })
})

describe('a virtual root', () => {
  const options = { roots: ['/mnt/aw-1'], absolute: 'virtual' } as const

  test.each([
    [String.raw`a\b`, 'a/b'],
    [String.raw`\a\.\b/c`, 'a/b/c'],
    [String.raw`\mnt\aw-1\a`, 'a'],
    [String.raw`C:\a`, 'C:/a'],
    [String.raw`..\a`, 'path_traversal_attempt'],
    [String.raw`\..\a`, 'path_traversal_attempt'],
    [String.raw`a\..\..\b`, 'path_traversal_attempt'],
  ])('%s is %s', (path, names) => expect(codeOf(path, options)).toBe(names))

  test('an absolute path is taken as relative, whichever way it is written', () => {
    for (const path of ['/etc/x', String.raw`\etc\x`])
      expect(parsePath(path, options)).toEqual({ names: ['etc', 'x'], directory: false, rebased: true })
    expect(parsePath('a\\', options).directory).toBe(true)
  })
})

test('whatever the input, the gate answers names or one of its codes', () => {
  const codes = [
    'invalid_path',
    'invalid_path_null_byte',
    'path_too_long',
    'path_traversal_attempt',
    'path_outside_workspace',
  ]
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.string({ unit: 'binary' })), (path) => {
      const answer = codeOf(path)
      expect(codes.includes(answer) || answer.split('/').every((name) => name !== '.' && !name.includes('\0'))).toBe(
        true,
      )
    }),
  )
})

describe('folding', () => {
  test.each([
    '.AW',
    '.Aw',
    '.aw.',
    '.aw. .',
    '.a\u200cw',
    '.a\u00adw',
    '\ufeff.aw',
    '.ａｗ',
    '.ᴬW',
    '.aw::$DATA',
    '․aw',
  ])('%j folds to .aw', (alias) => expect(foldName(alias)).toBe('.aw'))

  test.each(['.awk', 'aw', '.a-w', '.aw-1', 'a.w'])('%j does not', (name) => expect(foldName(name)).not.toBe('.aw'))

  test('letters whose case is not one to one fold too', () => {
    expect(foldName('straße')).toBe(foldName('STRASSE'))
    expect(foldName('café')).toBe(foldName('CAFE\u0301'))
  })
})

test('names are ordered as their bytes are', () => {
  const name = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(name, name, (a, b) => {
      expect(Math.sign(compareNames(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
    }),
  )
  expect(compareNames('\uffee', '😀')).toBeLessThan(0)
})

test('a temporary name is known as one', () => {
  expect(isTemporaryName(temporaryName('0123456789abcdef'))).toBe(true)
  expect(isTemporaryName('.aw-notes.tmp')).toBe(false)
})

test('a quoted path fits on a line and holds nothing that acts on a terminal', () => {
  expect(quotePath('src/a b.ts')).toBe('src/a b.ts')
  expect(quotePath('a\u001b[2J')).toBe('"a\\u001b[2J"')
  expect(quotePath('a'.repeat(9999))).toHaveLength(121)
})

describe('a prompt', () => {
  const adapt = (text: string) => adaptPrompt(text, { from: ['/mnt/okc', '/mnt/okc/output'], to: '/mnt/workspace/' })

  test.each([
    ['Write to /mnt/okc/report.md.', 'Write to /mnt/workspace/report.md.'],
    ['`/mnt/okc/output/x`', '`/mnt/workspace/x`'],
    ['It is /mnt/okc.', 'It is /mnt/workspace.'],
    ['/mnt/okc', '/mnt/workspace'],
    ['/mnt/okcomputer /mnt/okc-2 /mnt/okc.bak', '/mnt/okcomputer /mnt/okc-2 /mnt/okc.bak'],
    ['/srv/mnt/okc', '/srv/mnt/okc'],
  ])('%j becomes %j', (text, adapted) => expect(adapt(text)).toBe(adapted))

  test('a "$" in the new path is a "$"', () => {
    expect(adaptPrompt('/old/x', { from: '/old', to: '/$&/new' })).toBe('/$&/new/x')
    expect(adaptPrompt('as it was', { from: [], to: '/new' })).toBe('as it was')
  })
})

describe("a session's paths", () => {
  const paths = workspacePaths({
    id: 's1',
    root: '/srv/aw/volumes/ws_1',
    publicRoot: '/mnt/workspace',
    directories: ['mnt', 'output'],
  })

  test('are the same below both roots', () => {
    expect(paths.public).toEqual({ root: '/mnt/workspace', mnt: '/mnt/workspace/mnt', output: '/mnt/workspace/output' })
    expect(paths.internal['output']).toBe('/srv/aw/volumes/ws_1/output')
  })

  test('do not leak the host', () => {
    expect(JSON.stringify(paths)).not.toContain('/srv/aw')
    expect(paths.redact('cannot open /srv/aw/volumes/ws_1/a: no')).toBe('cannot open /mnt/workspace/a: no')
  })
})
