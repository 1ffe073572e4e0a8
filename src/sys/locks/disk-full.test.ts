import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { AwError } from '../../domain/errors.ts'
import { diskFullError, writeObstacle } from './disk-full.ts'
import { reserveIn } from '../fs/reserve.ts'

const failure = (fields: object): Error => Object.assign(new Error('it failed'), fields)

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'aw-cramped-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

it.each([
  ['SQLITE_FULL', { errcode: 13 }, 'full'],
  ['ENOSPC', { code: 'ENOSPC' }, 'full'],
  ['EDQUOT', { code: 'EDQUOT' }, 'full'],
  ['EROFS', { code: 'EROFS' }, 'read-only'],
  ['EIO', { code: 'EIO' }, undefined],
  ['an I/O error of SQLite where there is room', { errcode: 4874 }, undefined],
  ['a database that is no database', { errcode: 26 }, undefined],
])('%s', (_, fields, why) => {
  const folder = makeFolder()
  expect(writeObstacle(failure(fields), join(folder, 'log.db'))).toBe(why)
  expect(writeObstacle(new AwError('internal', '', { cause: failure(fields) }), join(folder, 'log.db'))).toBe(why)
  expect(readdirSync(folder)).toEqual([])
})

it('says what can be done', () => {
  const file = join(makeFolder(), 'log.db')
  expect(diskFullError(failure({ code: 'EDQUOT' }), file, 'It')).toMatchObject({
    code: 'disk_full',
    exitCode: 7,
    message: 'It: the disk is full',
    hint: expect.stringMatching(/aw destroy --purge/) as unknown,
  })
  expect(diskFullError(failure({ code: 'EROFS' }), file, 'It')).toMatchObject({
    code: 'permission_denied',
    exitCode: 5,
  })
  expect(diskFullError(failure({ code: 'EIO' }), file, 'It')).toBeUndefined()
})

it('the reserve is made, given up once, and made again whole; none is asked for by 0', () => {
  const folder = makeFolder()
  const reserve = reserveIn(folder, 300_000)
  expect([reserve.keep(), reserve.keep(), reserve.release(), reserve.release()]).toEqual([true, true, true, false])
  expect(reserveIn(folder, 100_000).keep()).toBe(true)
  expect(reserve.keep()).toBe(true)
  // A process that was stopped right after it made the file.
  truncateSync(join(folder, 'reserve'))
  expect(reserve.keep()).toBe(true)
  expect(reserveIn(folder, 0).keep()).toBe(true)
})
