import { expect, test } from 'vitest'
import { readFiles, type SourceFile } from './source-tree.ts'

const most = 300

function tooLong({ path, text }: SourceFile): string[] {
  const lines = text.trimEnd().split('\n').length
  return lines > most ? [`${path}: ${lines} lines, and ${most} are the most that a reader can take in`] : []
}

test('every source file can be read in one go', () => {
  expect(readFiles('src/**/*.ts').flatMap(tooLong)).toEqual([])
})

test('the rule finds a long file', () => {
  expect(tooLong({ path: 'src/a.ts', text: 'a\n'.repeat(most) })).toEqual([])
  expect(tooLong({ path: 'src/a.ts', text: 'a\n'.repeat(most + 1) })).toHaveLength(1)
})
