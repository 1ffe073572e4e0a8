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
