import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { isText, unifiedDiff } from './text-diff.ts'

const names = { before: 'file', after: 'file' }

it('tells how a text changed, with three lines around it', () => {
  const before = '1\n2\n3\n4\n5\n6\n7\n8\n9\n'
  expect(unifiedDiff(before, before.replace('5', 'five'), names)).toBe(
    '--- a/file\n+++ b/file\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n',
  )
})

it('says nothing of equal texts', () => {
  expect(unifiedDiff('a\n', 'a\n', names)).toBe('')
})

it('tells of a file that came or went', () => {
  expect(unifiedDiff('', 'a\n', { before: null, after: 'x' })).toBe('--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n')
  expect(unifiedDiff('a\n', '', { before: 'x', after: null })).toBe('--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n')
})

it('tells of a missing line end', () => {
  expect(unifiedDiff('a\n', 'a', names)).toContain('-a\n+a\n\\ No newline at end of file\n')
})

it('quotes a name that would break the line, and ends one with a space', () => {
  expect(unifiedDiff('', 'a\n', { before: null, after: 'x\ny' })).toContain('+++ "b/x\\ny"')
  expect(unifiedDiff('', 'a\n', { before: null, after: 'x y' })).toContain('+++ b/x y\t\n')
})

it('tells text from what is not', () => {
  expect(isText(Buffer.from('grün\n'))).toBe(true)
  expect(isText(Buffer.from([0x61, 0]))).toBe(false)
  expect(isText(Buffer.from([0xff, 0xfe]))).toBe(false)
})

it('stays within its memory where everything differs', () => {
  const lines = (word: string): string => Array.from({ length: 20_000 }, (_, i) => `${word} ${i}\n`).join('')
  expect(unifiedDiff(lines('old'), lines('new'), names)).toContain('@@ -1,20000 +1,20000 @@')
})

it('gives what patch makes the new text of', () => {
  const directory = mkdtempSync(join(tmpdir(), 'aw-patch-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'file')
  const line = fc.constantFrom('a', 'b', 'c', '', '}', 'long line')
  const text = fc
    .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom('', '\n'))
    .map(([l, end]) => l.join('\n') + end)
  fc.assert(
    fc.property(text, text, (before, after) => {
      const patch = unifiedDiff(before, after, names)
      expect(patch === '').toBe(before === after)
      if (patch === '' || before === '' || after === '') return
      writeFileSync(file, before)
      execFileSync('git', ['apply', '--unidiff-zero', '-p1', '-'], {
        cwd: directory,
        input: patch,
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      expect(readFileSync(file, 'utf8')).toBe(after)
    }),
    { numRuns: 60 },
  )
})
