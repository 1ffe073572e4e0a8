import { expect, test } from 'vitest'
import { gitFileTarget, resolveInside } from './link.ts'

test('a file names a repository as git writes and reads it', () => {
  expect(gitFileTarget('gitdir: /r/.git/worktrees/w\n')).toBe('/r/.git/worktrees/w')
  expect(gitFileTarget('gitdir: ../.git/modules/m\r\n')).toBe('../.git/modules/m')
  expect(gitFileTarget('gitdir: ../out\0/../in')).toBe('../out')
  expect(gitFileTarget('gitdir:/r')).toBeUndefined()
  expect(gitFileTarget('')).toBeUndefined()
})

test.each([
  [[], '.real', ['.real']],
  [[], './a//b/', ['a', 'b']],
  [['m'], '../.git/modules/m', ['.git', 'modules', 'm']],
  [['a', 'b'], '../..', []],
  [['a', 'b'], '../../../x', undefined],
  [[], '../folder/.git', undefined],
  [['m'], 'link/../.git', undefined],
  [['m'], '/folder/.git', undefined],
])('in %j, %s leads to %j', (directory, path, names) => {
  expect(resolveInside(directory, path)).toEqual(names)
})
