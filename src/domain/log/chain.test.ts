import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkpointHash, emptyHead, noHash, recordHash, toRecord, type Head, type LogRecord } from './chain.ts'
import type { NewEvent } from './event.ts'

const record: LogRecord = {
  position: 7,
  id: 'ev_1',
  stream: 'ws_1',
  version: 3,
  at: '2026-01-01T00:00:00.000Z',
  type: 'workspace_labelled',
  schema: 1,
  task: 'a',
  agent: 'main',
  data: '{"task_id":"a","agent_id":"main","labels":{"é":"☃"}}',
  meta: '{"actor":"system"}',
  hash: noHash,
}

describe('record hash', () => {
  it('is the one of the specification', () => {
    // Computed by hand from docs/spec/event-log.md; if it changes, every log there is stops verifying.
    expect(recordHash('00', record)).toBe('631ffe625d959f8826885f3bc1bac6741a96a2ff26f09df7370cf9cda277065a')
  })

  it('covers every hashed field and the hash before it', () => {
    const hashed = ['position', 'id', 'stream', 'version', 'at', 'type', 'schema', 'data', 'meta'] as const
    const hashes = hashed.map((field) => recordHash('00', { ...record, [field]: `${record[field]}1` }))
    const all = [recordHash('00', record), recordHash('01', record), ...hashes]
    expect(new Set(all).size).toBe(hashed.length + 2)
  })

  it('tells apart fields that join to the same text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(20), (data, meta, cut) => {
        const joined = data + meta
        const other = { ...record, data: joined.slice(0, cut), meta: joined.slice(cut) }
        const same = other.data === data && other.meta === meta
        expect(recordHash('', { ...record, data, meta }) === recordHash('', other)).toBe(same)
      }),
    )
  })
})

describe('record', () => {
  const event = { id: 'ev_1', at: record.at, type: 'home_created', data: { format: 1, owner_uid: 0 } } as const
  const meta = { actor: 'system', correlation_id: 'cor_1', causation_id: null, operation: null }

  it('follows the head it is given', () => {
    const first = toRecord('home', emptyHead, 1, { ...event, meta } satisfies NewEvent)
    const second = toRecord('home', first, 2, { ...event, meta })
    expect(first).toMatchObject({ version: 1, position: 1, task: null, agent: null, schema: 1 })
    expect(second).toMatchObject({ version: 2, position: 2, hash: recordHash(first.hash, second) })
  })
})

describe('checkpoint hash', () => {
  const content = { number: 1, at: record.at, position: 7, events: 7 }
  const heads: [string, Head][] = [
    ['ws_1', { version: 3, hash: 'aa' }],
    ['home', { version: 1, hash: 'bb' }],
  ]

  it('is the one of the specification', () => {
    expect(checkpointHash(noHash, content, new Map(heads))).toBe(
      '9e5dff94c91a120e6d678f8b6ccbc5a8f924b3467e2ded243bd937c2d36b3f6a',
    )
  })

  it('does not depend on the order in which heads come', () => {
    const turned = new Map(heads.toReversed())
    expect(checkpointHash(noHash, content, turned)).toBe(checkpointHash(noHash, content, new Map(heads)))
  })

  it('covers everything it is given', () => {
    const variants = [
      checkpointHash('00', content, new Map(heads)),
      checkpointHash(noHash, { ...content, number: 2 }, new Map(heads)),
      checkpointHash(noHash, { ...content, at: '' }, new Map(heads)),
      checkpointHash(noHash, { ...content, position: 8 }, new Map(heads)),
      checkpointHash(noHash, { ...content, events: 8 }, new Map(heads)),
      checkpointHash(noHash, content, new Map(heads.slice(1))),
      checkpointHash(noHash, content, new Map([...heads.slice(1), ['ws_1', { version: 3, hash: 'ab' }]])),
      checkpointHash(noHash, content, new Map([...heads.slice(1), ['ws_1', { version: 4, hash: 'aa' }]])),
      checkpointHash(noHash, content, new Map([...heads.slice(1), ['ws_2', { version: 3, hash: 'aa' }]])),
      checkpointHash(noHash, content, new Map(heads)),
    ]
    expect(new Set(variants).size).toBe(variants.length)
  })
})
