import { expect, it } from 'vitest'
import { errnoName } from './errno.ts'
import { toAwError } from './errors.ts'

it('has a name for each, also for what Node has none for', () => {
  const failure = (about: object): Error => Object.assign(new Error('it failed'), { syscall: 'write' }, about)
  const quota = failure({ errno: -122, code: 'Unknown system error -122' })
  expect(errnoName(quota)).toBe('EDQUOT')
  expect(errnoName(failure({ errno: -28, code: 'ENOSPC' }))).toBe('ENOSPC')
  expect(errnoName(new Error('another'))).toBe('')
  expect(toAwError(quota)).toMatchObject({ code: 'quota_exceeded', data: { errno: 'EDQUOT' } })
})

it('a full disk is told as such, with a way out', () => {
  const error = Object.assign(new Error("ENOSPC: copy 'a'"), { code: 'ENOSPC', errno: -28, syscall: 'copy' })
  const { code, message, hint } = toAwError(error)
  expect([code, message]).toEqual(['disk_full', "The disk is full (ENOSPC: copy 'a')"])
  expect(hint).toContain('aw gc --plan')
})

it.each([
  ['EDQUOT', 'UNKNOWN: unknown error, write', 'quota_exceeded', 'There is no room left within a quota (EDQUOT: write)'],
  ['ELOOP', "ELOOP: stat 'a'", 'filesystem_error', "Links lead in a circle (ELOOP: stat 'a')"],
  ['ENAMETOOLONG', 'ENAMETOOLONG: stat', 'filesystem_error', 'The path is too long (ENAMETOOLONG: stat)'],
])('%s is told in words, with a way out', (errno, text, code, message) => {
  const known = errno === 'EDQUOT' ? { code: 'UNKNOWN', errno: -122 } : { code: errno }
  const told = toAwError(Object.assign(new Error(text), known, { syscall: 'write' }))
  expect(told).toMatchObject({ code, message, hint: expect.stringMatching(/\w/) as string })
})
