/** What programs read with `--json` stays: no field goes, and none becomes something else. */
import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../src/api/operation.ts'
import { parse } from '../../src/api/parse.ts'
import { integer, list, nullable, object, optional, pairs, string } from '../../src/api/schema.ts'
import { operations } from '../../src/api/table.ts'
import { jsonText } from '../../src/http/answer.ts'
import { filesOf, folder, samplesOf } from './samples.ts'
import { fewest, lostInAnswers, lostInSchema, shapeOf } from './shape.ts'
import { everyAnswer } from './story.ts'

const table: readonly Operation[] = operations
const named = table.map((operation) => [operation.name, operation] as const)
let told: ReadonlyMap<string, unknown[]>
beforeAll(async () => {
  told = await everyAnswer()
})

test('what each operation has answered is kept, and nothing else', () => {
  expect(table.filter((one) => filesOf(one).length === 0).map(({ name }) => name)).toEqual([])
  // Keep a new one with: node tools/answer-samples.ts
  expect(readdirSync(folder).toSorted()).toEqual(table.flatMap(filesOf).toSorted())
})

test.each(named)('%s still says what it said', (name, operation) => {
  const samples = samplesOf(operation)
  const now = told.get(name) ?? []
  expect(now.length).toBeGreaterThan(0)
  expect(lostInSchema(operation.output, samples)).toEqual([])
  // It is what the schema says, with all that it promises, and nothing is said that is not promised.
  for (const one of now) parse(operation.output, JSON.parse(jsonText(one)), name)
  expect(lostInSchema(operation.output, now)).toEqual([])
  expect(lostInAnswers(shapeOf(operation.output, samples), shapeOf(operation.output, now))).toEqual([])
})

describe('it is seen when', () => {
  const answer = (more: object = {}) => ({
    id: 'a',
    size: 1,
    labels: { any: 'thing' },
    all: [
      { id: 'b', note: null },
      { id: 'c', note: 'text' },
    ],
    ...more,
  })
  const schema = object({
    id: string(''),
    size: optional(integer('')),
    labels: pairs(''),
    all: list(object({ id: string(''), note: nullable(string('')) })),
  })
  const lost = (now: object): string[] => lostInAnswers(shapeOf(schema, [answer()]), shapeOf(schema, [now]))

  test('nothing is lost: others in a list, other keys of a record, nothing where there was something, more fields', () => {
    expect(lost(answer({ labels: { other: 'x' }, all: [{ id: 'd', note: null }], more: true }))).toEqual([])
    expect(lost(answer({ all: [], labels: {} }))).toEqual([])
    expect(lostInSchema(schema, [answer()])).toEqual([])
  })

  test('a field is gone, from the answer or from the schema', () => {
    expect(lost(answer({ size: undefined }))).toEqual(['.size is gone'])
    expect(lost(answer({ all: [{ id: 'd' }] }))).toEqual(['.all[].note is gone'])
    const { size: _, ...properties } = schema.properties ?? {}
    expect(lostInSchema({ ...schema, properties }, [answer()])).toEqual(['.size is gone'])
  })

  test('a field is something else', () => {
    expect(lost(answer({ size: '1' }))).toEqual(['.size was number and is string'])
    expect(lost(answer({ labels: { any: 1 } }))).toEqual(['.labels{} was string and is number'])
    expect(lost(answer({ all: {} }))).toEqual(['.all was list and is object'])
    const properties = { ...schema.properties, size: string('') }
    expect(lostInSchema({ ...schema, properties }, [answer()])).toEqual(['.size is no number any more'])
  })

  test('and what is kept is as little as tells it all', () => {
    const one = answer({
      all: [
        { id: 'b', note: null },
        { id: 'c', note: null },
        { id: 'd', note: 'x' },
      ],
    })
    const [kept, ...others] = fewest(schema, [one, answer()])
    expect(kept).toEqual({
      ...one,
      all: [
        { id: 'b', note: null },
        { id: 'd', note: 'x' },
      ],
    })
    expect(others).toEqual([])
    expect(fewest(schema, [answer()], shapeOf(schema, [one]))).toEqual([])
  })
})
