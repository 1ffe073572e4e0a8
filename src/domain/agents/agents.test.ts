import { expect, test } from 'vitest'
import { parseBrokers } from '../network/broker.ts'
import type { AwError } from '../errors.ts'
import { builtInAgents, plainAgent } from './built-in.ts'
import { checkProfile } from './check.ts'
import { fillArguments, fillPairs } from './fill.ts'

const check = (given: unknown) => checkProfile('mine', given, plainAgent('mine'), '/home/agents.d/mine.json')

function problemOf(given: unknown): AwError {
  try {
    check(given)
  } catch (error) {
    expect((error as AwError).code).toBe('invalid_config')
    return error as AwError
  }
  throw new Error('It is a profile')
}

const whole = { title: 'Mine', binary: 'mine', command: ['mine', '{{prompt}}'] }

test.each(Object.values(builtInAgents))(
  'the built-in profile of $title is right, and nothing in it is unknown',
  (one) => {
    const { name, ...fields } = one
    expect(checkProfile(name, JSON.parse(JSON.stringify(fields)), plainAgent(name), 'built in')).toEqual(one)
  },
)

test.each(Object.values(builtInAgents))('the brokers of $title are brokers, and the key is in no variable', (one) => {
  for (const { broker } of one.credentials) {
    if (broker === undefined) continue
    const headers = fillPairs(broker.headers, { value: 'secret' })
    expect(Object.values(headers).join()).toContain('secret')
    expect(parseBrokers([{ name: broker.name, upstream: broker.upstream, headers }])).toHaveLength(1)
    expect(JSON.stringify([broker.env, broker.placeholder, broker.arguments])).not.toContain('value}}')
    expect(JSON.stringify([broker.env, broker.arguments])).toContain('{{url}}')
  }
})

test('a profile of three fields is enough', () => {
  expect(check(whole)).toMatchObject({ name: 'mine', title: 'Mine', version: ['--version'], prompt: 'argument' })
})

test.each([
  [{ ...whole, comand: [] }, 'comand', 'did you mean command?'],
  [{ ...whole, state: { path: '/x' } }, 'state.path', 'is no field'],
  [{ ...whole, credentials: [{ form: {} }] }, 'credentials.0.from', 'is missing'],
  [{ ...whole, credentials: [{ from: { variable: 'A' } }] }, 'credentials.0', 'neither or both'],
  [{ ...whole, credentials: [{ from: { file: 'key' }, file: { variable: 'A' } }] }, 'credentials.0.from.file', '~/'],
  [{ ...whole, env: { 'A B': '1' } }, '"A B"', 'name of a variable'],
  [{ ...whole, env: { AW_HOME: '1' } }, '"AW_HOME"', 'name of a variable'],
  [{ ...whole, command: 'mine' }, 'command', 'list of texts'],
  [{ ...whole, network: ['*.com'] }, 'network', 'rule'],
  [{ ...whole, prompt: 'file' }, 'prompt', 'none of input, argument'],
  [{ ...whole, binary: './mine' }, 'binary', 'absolute'],
  [{ ...whole, state: { mount: '/x', env: {}, files: { '../x': '' } } }, 'state.files.../x', 'below'],
  [{ ...whole, state: { mount: '/x', env: {}, files: {}, instructions: '/x' } }, 'state.instructions', 'below'],
  [{ title: 'Mine' }, 'binary', 'is missing'],
  [[], 'it', 'is not an object'],
])('what is wrong with %j is told: %s %s', (given, field, why) => {
  const { message, hint } = problemOf(given)
  expect(message).toContain(field)
  expect(message).toContain(why)
  expect(hint).toContain('/home/agents.d/mine.json')
})

test('an argument is left out with its value, a list becomes its items, and a word that means nothing is a mistake', () => {
  const template = ['x', '--model={{model}}', '{{prompt}}', '{{arguments}}', 'a{{model}}b']
  expect(fillArguments(template, { model: undefined, prompt: '-p {{model}}', arguments: ['1', '2'] })).toEqual([
    'x',
    '-p {{model}}',
    '1',
    '2',
  ])
  expect(fillArguments(template, { model: 'm', prompt: '', arguments: [] })).toEqual(['x', '--model=m', '', 'amb'])
  expect(fillPairs({ A: '{{url}}/v1', B: '{{model}}' }, { url: 'http://u', model: undefined })).toEqual({
    A: 'http://u/v1',
  })
  expect(() => fillArguments(['{{promt}}'], { prompt: 'x' })).toThrow('there is no such value here')
})
