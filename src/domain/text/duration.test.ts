import { expect, test } from 'vitest'
import { parseDuration } from './duration.ts'

test('a day has 24 hours', () => {
  expect(parseDuration('1d', 'ttl')).toBe(24 * 60 * 60 * 1000)
})

test.each(['', 'd', '1', '1 d', '-1d', '1.5h', '1y', '99999999999d'])('%j is not a duration', (text) => {
  expect(() => parseDuration(text, 'ttl')).toThrow(expect.objectContaining({ code: 'invalid_input' }) as Error)
})
