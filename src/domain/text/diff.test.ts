import { expect, it } from 'vitest'
import { hunksOf, isText } from './diff.ts'

it('tells how a text changed, with three lines around it', () => {
  const before = '1\n2\n3\n4\n5\n6\n7\n8\n9\n'
  const hunk = ['@@ -2,7 +2,7 @@', ' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8']
  expect(hunksOf(before, before.replace('5', 'five'))).toEqual(hunk)
})

it('says nothing of equal texts', () => {
  expect(hunksOf('a\n', 'a\n')).toEqual([])
})

it('tells of a text that came or went', () => {
  expect(hunksOf('', 'a\n')).toEqual(['@@ -0,0 +1 @@', '+a'])
  expect(hunksOf('a\n', '')).toEqual(['@@ -1 +0,0 @@', '-a'])
})

it('tells of a missing line end', () => {
  expect(hunksOf('a\n', 'a')).toEqual(['@@ -1 +1 @@', '-a', '+a', '\\ No newline at end of file'])
})

it('tells text from what is not', () => {
  expect(isText(Buffer.from('grün\n'))).toBe(true)
  expect(isText(Buffer.from([0x61, 0]))).toBe(false)
  expect(isText(Buffer.from([0xff, 0xfe]))).toBe(false)
})

it('stays within its memory where everything differs', () => {
  const lines = (word: string): string => Array.from({ length: 20_000 }, (_, i) => `${word} ${i}\n`).join('')
  expect(hunksOf(lines('old'), lines('new'))[0]).toBe('@@ -1,20000 +1,20000 @@')
})
