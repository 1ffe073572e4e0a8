import { describe, expect, it } from 'vitest'
import { toAwError } from '../domain/errors.ts'
import { parse } from './parse.ts'
import {
  boolean,
  bytes,
  choice,
  either,
  integer,
  json,
  list,
  nullable,
  object,
  optional,
  pairs,
  string,
} from './schema.ts'

const schema = object({
  id: string('The name'),
  count: optional(integer('How many', { minimum: 1, maximum: 9 })),
  kind: optional(choice(['red', 'green'], 'Which')),
  flag: optional(boolean('Whether')),
  labels: optional(pairs('Labels')),
  tags: optional(list(string('Tag'))),
  config: optional(json('Anything')),
  content: optional(bytes('Content')),
  from: optional(either(choice(['empty'], 'Nothing'), object({ folder: string('Folder') }), 'Source')),
  note: optional(nullable(string('Note'))),
})

describe('parse', () => {
  it('lets through what fits', () => {
    const input = {
      id: 'a',
      count: 9,
      kind: 'red',
      flag: false,
      labels: { a: 'b' },
      tags: ['x'],
      config: { deep: [{ anything: null }] },
      content: new Uint8Array([1]),
      from: { folder: '/x' },
      note: null,
    }
    expect(parse(schema, input)).toEqual(input)
    expect(parse(schema, { id: 'a', from: 'empty', content: 'text', count: undefined })).toMatchObject({ id: 'a' })
  })

  it.each([
    [{}, 'id is missing'],
    [{ id: undefined }, 'id is missing'],
    [{ id: 7 }, 'id must be text, not 7'],
    [{ id: 'a', count: 0 }, 'count must be between 1 and 9, not 0'],
    [{ id: 'a', count: 1.5 }, 'count must be a whole number, not 1.5'],
    [{ id: 'a', kind: 'blue' }, 'kind is "blue"; it must be one of red, green'],
    [{ id: 'a', flag: 'true' }, 'flag must be true or false, not "true"'],
    [{ id: 'a', labels: { a: 1 } }, 'labels.a must be text, not 1'],
    [{ id: 'a', tags: 'x' }, 'tags must be a list, not "x"'],
    [{ id: 'a', tags: [1] }, 'tags[0] must be text, not 1'],
    [{ id: 'a', content: 7 }, 'content must be text or bytes, not 7'],
    [{ id: 'a', knd: 'red' }, 'There is no field knd'],
    [{ id: 'a', from: { foo: 1 } }, 'from: folder is missing'],
    [{ id: 'a', from: { folder: 7 } }, 'from.folder must be text, not 7'],
    [{ id: 'a', from: 'full' }, 'from is "full"; it must be one of empty'],
    [[], 'input must be an object, not a list'],
    [null, 'input must be an object, not null'],
    ['x', 'input must be an object, not "x"'],
  ])('refuses %j', (input, message) => {
    expect(() => parse(schema, input)).toThrow(expect.objectContaining({ code: 'invalid_input', message }) as Error)
  })

  it('names what was probably meant', () => {
    expect(() => parse(schema, { id: 'a', knd: 'red' })).toThrow(
      expect.objectContaining({ hint: 'Did you mean kind?' }) as Error,
    )
  })

  it('names the fields of what is said with fields, to who wrote a word', () => {
    const hintOf = (from: unknown): string | undefined => {
      try {
        return void parse(schema, { id: 'a', from })
      } catch (error) {
        return toAwError(error).hint
      }
    }
    expect(hintOf('/srv/folder')).toBe('It may also be an object with fields: folder')
    expect(hintOf('emtpy')).toBe('Did you mean empty?')
    expect(hintOf({ folder: 7 })).toBeUndefined()
  })

  it('does not take inherited or special keys for fields', () => {
    expect(() => parse(schema, { id: 'a', constructor: 'x' })).toThrow('There is no field constructor')
    expect(() => parse(schema, JSON.parse('{"id":"a","__proto__":{"count":1}}'))).toThrow('There is no field __proto__')
    expect(() => parse(schema, Object.create({ id: 'a' }))).toThrow('id is missing')
  })

  it.each([
    ['text', { text: 'a\ud800' }, 'text'],
    ['a label', { labels: { a: '\udc00' } }, 'labels.a'],
    ['the key of a label', { labels: { 'a\ud800': 'b' } }, 'labels'],
    ['deep in JSON', { config: { a: [{ b: ['x\ud800y'] }] } }, 'config.a.0.b.0'],
    ['a key in JSON', { config: { a: { 'b\ud800': 1 } } }, 'config.a'],
    ['content', { content: '\ud800' }, 'content'],
  ])('refuses half a surrogate pair: %s', (_, input, field) => {
    const fields = object({
      text: optional(string('Text')),
      labels: optional(pairs('Labels')),
      config: optional(json('Any object')),
      content: optional(bytes('Bytes')),
    })
    expect(() => parse(fields, input)).toThrow(
      expect.objectContaining({ code: 'invalid_input', data: { field } }) as Error,
    )
    const whole = { text: '😀', labels: { a: '😀' }, config: { '😀': ['😀'] }, content: new Uint8Array([0xff]) }
    expect(parse(fields, whole)).toBe(whole)
  })

  it('refuses what has no bottom', () => {
    const endless: Record<string, unknown> = {}
    endless['again'] = endless
    expect(() => parse(object({ config: json('Any object') }), { config: endless })).toThrow('nested too deeply')
  })
})
