import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDescriptors } from '../../../test/attacks/workspace.ts'
import { at, directoryFlags, identity } from './descriptors.ts'
import { type DirectoryStack, openDirectoryStack } from './directory-stack.ts'

let dir: string
let base: number
let levels: DirectoryStack
beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), 'aw-levels-'))
  base = fs.openSync(dir, directoryFlags)
  levels = openDirectoryStack(base)
})
afterEach(() => {
  levels[Symbol.dispose]()
  fs.closeSync(base)
  fs.rmSync(dir, { recursive: true, force: true })
})

function down(name: string): string {
  fs.mkdirSync(at(levels.top(), name))
  levels.push(name, fs.openSync(at(levels.top(), name), directoryFlags))
  return identity(levels.top())
}

test('every level is found again on the way up, with few descriptors open', () => {
  const before = openDescriptors()
  const way = Array.from({ length: 300 }, () => down('d'))
  expect(openDescriptors() - before).toBeLessThan(100)
  for (const expected of way.toReversed()) {
    expect(identity(levels.top())).toBe(expected)
    levels.pop()
  }
  expect(levels.top()).toBe(base)
  expect(openDescriptors()).toBe(before)
})

test('a way that was moved out from under us is found again by its names, or not at all', () => {
  for (let depth = 0; depth < 150; depth++) down('d')
  const halfway = join(dir, 'd/'.repeat(50))
  fs.renameSync(halfway, join(dir, 'away'))
  fs.mkdirSync(join(halfway, 'd/'.repeat(20)), { recursive: true })
  while (levels.names.length > 60) levels.pop()
  const top = identity(levels.top())
  const found = [join(halfway, 'd/'.repeat(10)), join(dir, 'away', 'd/'.repeat(10))].map((path) => {
    const fd = fs.openSync(path, directoryFlags)
    try {
      return identity(fd)
    } finally {
      fs.closeSync(fd)
    }
  })
  expect(found).toContain(top)
})

test('a link in the place of a lost level is not followed', () => {
  for (let depth = 0; depth < 150; depth++) down('d')
  fs.renameSync(join(dir, 'd'), join(dir, 'away'))
  fs.symlinkSync('/', join(dir, 'd'))
  const lost = openDirectoryStack(base)
  for (let depth = 0; depth < 70; depth++) lost.push('d', fs.openSync(join(dir, 'away'), directoryFlags))
  while (lost.names.length > 3) lost.pop()
  expect(() => lost.top()).toThrow(expect.objectContaining({ code: 'ENOTDIR' }))
  lost[Symbol.dispose]()
})
