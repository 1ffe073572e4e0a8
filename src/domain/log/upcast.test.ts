import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sampleData } from '../../../test/support/sample-events.ts'
import type { LogRecord } from './chain.ts'
import type { AnyEvent, EventType } from './event.ts'
import { currentSchema, decode, upcasts, type UpcastTable } from './upcast.ts'
import { evolve } from '../workspace/evolve.ts'

const folder = new URL('../../../test/samples/events/', import.meta.url)
const types = Object.keys(upcasts) as EventType[]
const sample = (type: string, schema: number): string =>
  readFileSync(new URL(`${type}.v${schema}.json`, folder), 'utf8')

const recordOf = (type: string, schema: number, data: string): LogRecord => ({
  position: 1,
  id: 'ev_1',
  stream: 'ws_1',
  version: 1,
  at: '2026-01-01T00:00:00.000Z',
  type,
  schema,
  task: null,
  agent: null,
  data,
  meta: '{"actor":"system","correlation_id":"cor_1","causation_id":null,"operation":null}',
  hash: '',
})

describe('stored samples', () => {
  it('exist for every schema of every type, and for nothing else', () => {
    const expected = types.flatMap((type) =>
      Array.from({ length: currentSchema(type) }, (_, i) => `${type}.v${i + 1}.json`),
    )
    expect(readdirSync(folder).toSorted()).toEqual(expected.toSorted())
  })

  it.each(types)('%s: what is written today is the stored sample of its schema', (type) => {
    // If this fails, the payload has changed: raise its schema with an upcast and store a new sample beside the old.
    expect(JSON.parse(sample(type, currentSchema(type)))).toEqual(sampleData[type])
  })

  it.each(types)('%s: every stored sample is read in the shape of today', (type) => {
    for (let schema = 1; schema <= currentSchema(type); schema++) {
      const event = decode(recordOf(type, schema, sample(type, schema)))
      expect(event.schema).toBe(schema)
      expect(Object.keys(event.data).toSorted()).toEqual(Object.keys(sampleData[type]).toSorted())
    }
  })

  it('can all be folded after one another', () => {
    const begun = evolve(
      undefined,
      decode(recordOf('workspace_create_started', 1, sample('workspace_create_started', 1))),
    )
    for (const type of types) {
      const event = decode(recordOf(type, currentSchema(type), sample(type, currentSchema(type))))
      expect(evolve(begun, event)).toMatchObject({ id: 'ws_1', version: 1 })
    }
  })
})

describe('decode', () => {
  /** A type that has changed twice: a number became a text, then the text was wrapped. */
  const table: UpcastTable = {
    measured: [
      ({ size, ...rest }) => ({ ...rest, size: `${String(size)} bytes` }),
      ({ size, ...rest }) => ({ ...rest, measure: { size } }),
    ],
  }
  const read = (type: string, schema: number, data: unknown): AnyEvent =>
    decode(recordOf(type, schema, JSON.stringify(data)), table)

  it('makes every old schema new, one step after the other', () => {
    const today = { of: 'a', measure: { size: '5 bytes' } }
    expect(read('measured', 1, { of: 'a', size: 5 }).data).toEqual(today)
    expect(read('measured', 2, { of: 'a', size: '5 bytes' }).data).toEqual(today)
    expect(read('measured', 3, today).data).toEqual(today)
  })

  it('still says how the event was written', () => {
    expect(read('measured', 1, { size: 5 }).schema).toBe(1)
  })

  it('leaves alone what a newer program wrote', () => {
    const data = { of: 'later', unknown: [1] }
    expect(read('measured', 4, data)).toMatchObject({ type: 'measured', schema: 4, data })
    expect(read('not_invented_yet', 1, data)).toMatchObject({ type: 'not_invented_yet', data })
    expect(read('toString', 1, data)).toMatchObject({ data })
  })

  it('names the record that cannot be read', () => {
    for (const text of ['{', 'null', '3', '']) {
      const broken = { ...recordOf('workspace_lost', 1, text), version: 4 }
      expect(() => decode(broken)).toThrow(
        expect.objectContaining({ code: 'log_damaged', data: { stream: 'ws_1', version: 4 } }),
      )
    }
  })
})
