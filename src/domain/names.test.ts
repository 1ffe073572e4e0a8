import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AwError } from './errors.ts'
import { isWorkspaceId, makeId } from './ids.ts'
import { formatName, generateSegment, parseName, sanitizeSegment } from './names.ts'

describe('names', () => {
  it('are TASK/AGENT, and TASK alone means TASK/main', () => {
    expect(parseName('task-123/agent-456')).toEqual({ task: 'task-123', agent: 'agent-456' })
    expect(parseName('run_7')).toEqual({ task: 'run_7', agent: 'main' })
    expect(formatName(parseName('a'))).toBe('a/main')
    const uuid = '3f2b8c1e-9d0a-4b53-8f7e-1a2b3c4d5e6f'
    expect(parseName(`${uuid}/${uuid}`)).toEqual({ task: uuid, agent: uuid })
  })

  it.each([
    '',
    '/',
    'a/',
    '/a',
    'a/b/c',
    '..',
    '../a',
    'a/..',
    '.a',
    '-a',
    'a/-b',
    'a b',
    'a\0b',
    'a\nb',
    'ä',
    'a%2fb',
    'a\\b',
    'a'.repeat(101),
    makeId('ws', 0, new Uint8Array(10)),
    7,
    null,
    undefined,
    ['a'],
    { toString: () => 'a' },
  ])('refuses %j', (name) => {
    expect(() => parseName(name)).toThrow(expect.objectContaining({ code: 'invalid_name' }) as AwError)
  })

  it('come back from their printed form, and never climb', () => {
    const part = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/)
    fc.assert(
      fc.property(part, part, (task, agent) => {
        fc.pre(!isWorkspaceId(task))
        expect(parseName(`${task}/${agent}`)).toEqual({ task, agent })
        expect([task, agent]).not.toContain('..')
      }),
    )
  })
})

describe('made-up names', () => {
  it('are clean, short and never empty, whatever they are made from', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const name of [sanitizeSegment(text), generateSegment(text, randomBytes(6))]) {
          expect(name).toMatch(/^[a-z0-9][a-z0-9-]{0,49}$/)
          expect(parseName(name)).toEqual({ task: name, agent: 'main' })
        }
      }),
    )
  })

  it('keep what can be kept', () => {
    expect(sanitizeSegment('  Fix Login (v2)! ')).toBe('fix-login-v2')
    expect(sanitizeSegment('Änderung')).toBe('a-nderung')
    expect(generateSegment('planning', new Uint8Array(6))).toBe('planning-aaaaaa')
  })
})

describe('ids', () => {
  it('sort by age and are told from names', () => {
    const early = makeId('ws', 1_000, randomBytes(10))
    const late = makeId('ws', 2_000, randomBytes(10))
    expect(early < late).toBe(true)
    expect(isWorkspaceId(early)).toBe(true)
    expect(isWorkspaceId('ws_short')).toBe(false)
    expect(isWorkspaceId(`${early}/x`)).toBe(false)
  })

  it('use all their random bits', () => {
    const ids = new Set(Array.from({ length: 10_000 }, () => makeId('ws', 0, randomBytes(10))))
    expect(ids.size).toBe(10_000)
    expect(makeId('ev', 0, new Uint8Array(10).fill(255))).toBe(`ev_${'0'.repeat(10)}${'z'.repeat(16)}`)
  })
})
