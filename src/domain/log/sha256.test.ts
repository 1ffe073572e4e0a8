import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { digest, sha256 } from './sha256.ts'

const byNode = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

describe('SHA-256', () => {
  test('what the standard tells of abc', () => {
    expect(digest(Buffer.from('abc')).toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })

  test('every length around the ends of blocks', () => {
    for (let length = 0; length <= 260; length++) {
      const bytes = Buffer.from(Array.from({ length }, (_, at) => (at * 131 + length) % 256))
      expect([length, digest(bytes).toString('hex')]).toEqual([length, byNode(bytes)])
    }
  })

  test('any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
        expect(digest(bytes).toString('hex')).toBe(byNode(bytes))
      }),
      { numRuns: 300 },
    )
  })

  test('texts, before and after Node takes over, short and long', () => {
    const texts = [
      '',
      'abc',
      'ä€😀',
      'x'.repeat(40_000),
      '\ud800 alone',
      ...Array.from({ length: 60 }, (_, at) => `${at}`),
    ]
    for (const text of texts) expect(sha256(text)).toBe(byNode(text))
  })
})
