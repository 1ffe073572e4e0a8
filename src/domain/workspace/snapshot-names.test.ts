import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { labelFrom, parseBranch } from './snapshot-names.ts'

describe('a label from a message', () => {
  it.each([
    ['Fix it', 'Fix it'],
    ['  \r\n\t\nFix\u00a0 it \nmore', 'Fix it'],
    ['one\u2028two', 'one'],
    ['\u001b]0;title\u0007ring', ']0;title ring'],
    ['\ud800broken', 'broken'],
    ['می‌خواهم', 'می‌خواهم'],
    ['👩‍👩‍👧‍👦 family', '👩‍👩‍👧‍👦 family'],
    ['\u200d\u200d', null],
    ['\u200dx\u200d', 'x'],
    ['', null],
    [`a${'\u0301'.repeat(300)}`, `a${'\u0301'.repeat(119)}`],
    ['🎉'.repeat(130), '🎉'.repeat(120)],
  ])('%j is %j', (message, label) => {
    expect(labelFrom(message)).toBe(label)
  })

  it('is one tidy line of at most 120 characters, and its own label, whatever it is made from', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (message) => {
        const label = labelFrom(message)
        if (label === null) return
        expect(Array.from(label).length).toBeLessThanOrEqual(120)
        expect(label).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u)
        expect(label.isWellFormed()).toBe(true)
        expect(labelFrom(label)).toBe(label)
      }),
    )
  })
})

describe('a branch name', () => {
  it.each(['main', 'risky-idea', 'feature/login_2', '2026.1', 'größe', 'x'.repeat(120)])('%j is one', (name) => {
    expect(parseBranch(name)).toBe(name)
  })

  it.each([
    '',
    ' ',
    'a b',
    '-x',
    '.x',
    'a/.x',
    'a/-x',
    'a//b',
    'a/',
    'a.',
    'a..b',
    'a.lock',
    'a\n',
    '@',
    'a~1',
    '__proto__',
  ])('%j is none', (name) => {
    expect(() => parseBranch(name)).toThrow(expect.objectContaining({ code: 'invalid_name' }) as Error)
  })
})
