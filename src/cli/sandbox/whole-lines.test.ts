import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wholeLines } from './whole-lines.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const text = (all: readonly Uint8Array[]): string[] => all.map((one) => Buffer.from(one).toString('latin1'))

test('however it is cut into pieces, the lines are the same', () => {
  const pieces = fc.array(fc.stringMatching(/^[ab\n]{0,8}$/), { maxLength: 20 })
  fc.assert(
    fc.property(pieces, (all) => {
      const lines = wholeLines()
      const whole = all.flatMap((piece) => text(lines.take('x', bytes(piece))))
      const seen = [...whole, ...text(lines.rest('x'))]
      const expected = all.join('').split('\n')
      expect(seen).toEqual(expected.at(-1) === '' ? expected.slice(0, -1) : expected)
    }),
  )
})

test('a line without an end is cut, so that it is not held', () => {
  const lines = wholeLines(4)
  expect(text(lines.take('x', bytes('abcdefghij')))).toEqual(['abcd', 'efgh'])
  expect(text(lines.take('x', bytes('k\n')))).toEqual(['ijk'])
  expect(lines.rest('x')).toEqual([])
})

test('writers do not see each other', () => {
  const lines = wholeLines()
  lines.take('x', bytes('a'))
  expect(text(lines.take('y', bytes('b\n')))).toEqual(['b'])
  expect(text(lines.rest('x'))).toEqual(['a'])
})
