import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { configKeys, type ConfigKey, resolveConfig, environmentVariableOf } from './config.ts'
import { ruleOf } from './kinds.ts'
import { AwError } from '../errors.ts'

type Value = string | number | boolean
const keys = Object.keys(configKeys) as ConfigKey[]
const inFile = (key: string, value: unknown) => {
  const [section = '', name = ''] = key.split('.')
  const locate = () => ({ file: '/home/aw.toml', line: 3 })
  return resolveConfig({ file: { [section]: { [name]: value } }, locate })
}
const sources = [
  ['/home/aw.toml, line 3', inFile],
  [
    undefined,
    (key: string, value: unknown) => resolveConfig({ env: { [environmentVariableOf(key)]: value as string } }),
  ],
  ['--set', (key: string, value: unknown) => resolveConfig({ set: { [key]: value as string } })],
] as const

const isMode = (key: ConfigKey): boolean => ruleOf(configKeys[key].kind).title === 'octal mode'
/** As a person writes it in a variable. */
const written = (key: ConfigKey, value: Value): string =>
  isMode(key) ? `0${Number(value).toString(8)}` : String(value)

function refusal(action: () => unknown): AwError | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    if (error instanceof AwError) return error
    throw error
  }
}

describe.each(keys)('%s', (key) => {
  const { default: usual, kind } = configKeys[key]
  const { accepts } = ruleOf(kind)

  /** Every refusal names the key, the value, where it stands, and what is accepted. */
  function expectRefused(place: string, value: unknown, action: () => unknown): void {
    const error = refusal(action)
    expect(error, `${key} = ${String(value)}`).toMatchObject({ code: 'invalid_config', data: { key } })
    const shown = typeof value === 'string' ? JSON.stringify(value) : ''
    expect(error?.message.slice(0, 200)).toContain(`${key} is ${shown.slice(0, 100)}`)
    expect(error?.message).toContain(`(${place})`)
    expect(error?.message).toContain(`it must be ${accepts}`)
    expect(error?.hint).toEqual(expect.stringMatching(/./))
  }

  it('takes its own default from every place', () => {
    expect(inFile(key, usual).settings[key]).toBe(usual)
    for (const [, read] of sources.slice(1)) expect(read(key, written(key, usual)).settings[key]).toBe(usual)
  })

  it('refuses values of another type', () => {
    const wrong: unknown[] = [[], {}, [usual], { a: 1 }, new Date(0), Number.NaN, Infinity, 1.5, -1]
    if (typeof usual !== 'string') wrong.push('', 'x', '1 ', '0x10', ' true', 'yes', '１', 'toString')
    if (typeof usual !== 'boolean') wrong.push(true, false)
    if (typeof usual === 'boolean') wrong.push(0, 1)
    if (typeof usual === 'string') wrong.push(7, 'a\0b', '\ud800')
    for (const [place = environmentVariableOf(key), read] of sources)
      for (const value of wrong) expectRefused(place, value, () => read(key, value))
  })

  it('refuses text for a number or a switch in the file, where each has its own type', () => {
    if (typeof usual === 'string' || isMode(key)) return
    expectRefused('/home/aw.toml, line 3', String(usual), () => inFile(key, String(usual)))
  })

  it('either takes a value or says what it takes, whatever is written', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.integer().map(String),
      fc.constantFrom('*', '..', '/', '-', '/etc', 'a..b', 'x,y', 'localhost', '99999999999999', 'HEAD', '/a/../b'),
      fc.integer(),
      fc.double(),
      fc.boolean(),
    )
    fc.assert(
      fc.property(value, fc.constantFrom(...sources), (given, [place = environmentVariableOf(key), read]) => {
        const error = refusal(() => read(key, given))
        if (error === undefined) {
          const taken = read(key, given).settings[key]
          expect(typeof taken).toBe(typeof usual)
          expect(inFile(key, taken).settings[key]).toBe(taken)
          return
        }
        const isOfTwo = / is \d+ and [a-z._]+ is \d+/.test(error.message)
        if (!isOfTwo) expectRefused(place, given, () => read(key, given))
      }),
    )
  })
})

it.each([
  ['sandbox.allow', '*'],
  ['sandbox.allow', 'npm, *.com'],
  ['sandbox.allow', 'https://example.com'],
  ['sandbox.protect', '../x'],
  ['sandbox.protect', '/etc'],
  ['sandbox.mount', 'workspace'],
  ['sandbox.mount', '/usr/x'],
  ['sandbox.mount', ''],
  ['server.listen', '0.0.0.0:80'],
  ['server.listen', '127.0.0.1:99999'],
  ['server.max_connections', '0'],
  ['git.default_branch', '--upload-pack=x'],
  ['git.user_name', ''],
  ['git.user_email', 'a\nb'],
  ['runs.agent', 'Claude Code'],
  ['sandbox.first_port', '0'],
  ['sandbox.first_port', '40000'],
  ['sandbox.ports', '0'],
  ['sandbox.first_uid', '0'],
  ['sandbox.first_uid', '4294967295'],
  ['workspaces.uid', '0'],
  ['space.high_percent', '100'],
  ['space.warn_percent', '101'],
  ['workspaces.max_size_mb', '1000000000000'],
  ['sandbox.memory_mb', '2000000000000'],
])('%s = %j is refused at once, and not by what uses it later', (key, value) => {
  expect(() => resolveConfig({ set: { [key]: value } })).toThrow(
    expect.objectContaining({ code: 'invalid_config', data: { key, origin: 'flag' } }),
  )
})

it.each([
  [{ 'space.high_percent': '80', 'space.low_percent': '80' }, 'space.low_percent'],
  [{ 'sandbox.first_port': '32000', 'sandbox.ports': '1000' }, 'sandbox.ports'],
])('%j do not go together', (set, key) => {
  expect(() => resolveConfig({ set })).toThrow(expect.objectContaining({ code: 'invalid_config', data: { key } }))
})

it.each([
  ['sandbox.allow', 'npm, *.example.com:8443, localhost:5432,'],
  ['sandbox.mount', 'random'],
  ['server.listen', '[::1]:0'],
  ['git.default_branch', 'release/1.x'],
  ['runs.agent', 'my-agent'],
  ['git.user_name', 'Zoë 🙂'],
  ['sandbox.protect', ''],
])('%s = %j is taken', (key, value) => {
  expect(resolveConfig({ set: { [key]: value } }).settings).toMatchObject({ [key]: value })
})
