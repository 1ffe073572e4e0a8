import { configKeys, type Key } from './keys.ts'
import { ruleOf } from './kinds.ts'
import { AwError } from '../errors.ts'
import { nearest } from '../text/nearest.ts'
import { slotCount } from '../sandbox/variables.ts'
import { watermarksOf } from '../space/watermarks.ts'

export { configKeys }

export type ConfigKey = keyof typeof configKeys
type Value<K extends Key> = K['kind'] extends 'count' | 'positive' | 'milliseconds' | 'mode' | 'directory mode' | object
  ? K['kind'] extends readonly (infer V)[]
    ? V
    : number
  : K['kind'] extends 'switch'
    ? boolean
    : string
export type Settings = { readonly [K in ConfigKey]: Value<(typeof configKeys)[K]> }

/** Where a value came from: shown by `aw config show`. */
export type Origin = 'default' | 'file' | 'environment' | 'flag'

export interface Config {
  readonly settings: Settings
  readonly origins: Readonly<Record<ConfigKey, Origin>>
}

export interface ConfigSources {
  /** The parsed file: tables of keys. */
  readonly file?: Readonly<Record<string, unknown>> | undefined
  /** Where in the file a key stands. */
  readonly locate?: ((key: string) => { readonly file: string; readonly line?: number }) | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** `--set section.key=value` */
  readonly set?: Readonly<Record<string, string>> | undefined
}

/** Later sources win: defaults, file, environment, flags. The whole is checked, and what is unknown is refused. */
export function resolveConfig(sources: ConfigSources): Config {
  const settings: Record<string, unknown> = {}
  const origins: Record<string, Origin> = {}
  const put = (key: string, value: unknown, origin: Origin): void => {
    settings[key] = checked(key, value, origin, () => placeOf(key, origin, sources))
    origins[key] = origin
  }
  for (const [key, { default: value }] of Object.entries(configKeys)) {
    settings[key] = value
    origins[key] = 'default'
  }
  for (const [key, value] of flatten(sources.file ?? {})) put(key, value, 'file')
  assertVariables(sources.env ?? {})
  for (const key of Object.keys(configKeys)) {
    const value = sources.env?.[environmentVariableOf(key)]
    if (value !== undefined) put(key, value, 'environment')
  }
  for (const [key, value] of Object.entries(sources.set ?? {})) put(key, value, 'flag')
  const config = { settings: settings as unknown as Settings, origins: origins as Record<ConfigKey, Origin> }
  assertTogether(config.settings)
  return config
}

/** Where a value stands, for who has to change it. */
interface Place {
  readonly text: string
  readonly data: { readonly origin: Origin; readonly file?: string; readonly line?: number }
}

function placeOf(key: string, origin: Origin, { locate }: ConfigSources): Place {
  if (origin === 'environment') return { text: environmentVariableOf(key), data: { origin } }
  if (origin === 'flag') return { text: '--set', data: { origin } }
  const found = locate?.(key)
  if (found === undefined) return { text: origin, data: { origin } }
  const text = found.line === undefined ? found.file : `${found.file}, line ${found.line}`
  return { text, data: { origin, ...found } }
}

export const environmentVariableOf = (key: string): string => `AW_${key.replace('.', '_').toUpperCase()}`

/** Variables of `aw` that are no settings. */
const ownVariables = [
  'AW_HOME',
  'AW_LEASE',
  'AW_CONFIG',
  'AW_RESOLVER',
  'AW_NATIVE',
  'AW_DEBUG',
  'AW_CRASH_AT',
  'AW_BENCH_DIR',
  'AW_RUNS',
]
/** What processes in a workspace are given. */
const givenVariables = ['AW_WORKSPACE', 'AW_TASK', 'AW_AGENT', 'AW_SLUG', 'AW_PORT_BASE']

/**
 * A variable that looks like a setting and is none is a misspelling, and what it was to say would silently not be so.
 * Others with our prefix may be somebody else's.
 */
function assertVariables(env: Readonly<Record<string, string | undefined>>): void {
  const ours = Object.keys(env).filter((name) => name.startsWith('AW_') && env[name] !== undefined)
  if (ours.length === 0) return
  const known = [...Object.keys(configKeys).map(environmentVariableOf), ...ownVariables, ...givenVariables]
  const sections = Object.keys(configKeys).map((key) => environmentVariableOf(`${key.split('.')[0]}.`))
  for (const name of ours) {
    if (known.includes(name)) continue
    const close = nearest(name, known, name.length > 15 ? 2 : 1)
    if (close === undefined && !sections.some((section) => name.startsWith(section))) continue
    throw unknownKey(name, { text: 'environment', data: { origin: 'environment' } }, close ?? nearest(name, known))
  }
}

function flatten(file: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(file).flatMap(([section, value]): [string, unknown][] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[section, value]]
    return Object.entries(value).map(([key, inner]): [string, unknown] => [`${section}.${key}`, inner])
  })
}

/** @param findPlace asked only if something is wrong */
function checked(key: string, value: unknown, origin: Origin, findPlace: () => Place): unknown {
  if (!Object.hasOwn(configKeys, key)) throw unknownKey(key, findPlace())
  const { kind, about } = configKeys[key as ConfigKey] as Key
  const rule = ruleOf(kind)
  const refuse = (why = '', hint = about): AwError => {
    const { text, data } = findPlace()
    const message = `${key} is ${shown(value)} (${text})${why}; it must be ${rule.accepts}`
    return new AwError('invalid_config', message, { hint, data: { key, ...data } })
  }
  try {
    const result = rule.read(value, origin !== 'file')
    if (result !== undefined) return result
  } catch (error) {
    if (error instanceof AwError) throw refuse(`: ${error.message}`, error.hint)
    throw error
  }
  throw refuse()
}

/** TOML has numbers that JSON has not: nan, inf. */
function shown(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** Settings that are right one by one, and not together: those who use them check that too, with the same functions. */
function assertTogether(settings: Settings): void {
  watermarksOf(settings)
  const [first, count] = [settings['sandbox.first_port'], settings['sandbox.ports']]
  if (slotCount({ first, count }) > 0) return
  throw new AwError('invalid_config', `sandbox.first_port is ${first} and sandbox.ports is ${count}: no block fits`, {
    hint: 'The blocks are below port 32768: lower one of the two',
    data: { key: 'sandbox.ports' },
  })
}

function unknownKey(key: string, place: Place, close = nearest(key, Object.keys(configKeys))): AwError {
  return new AwError('invalid_config', `There is no setting ${key} (${place.text})`, {
    hint: close === undefined ? 'See them all with: aw config show' : `Did you mean ${close}?`,
    data: { key, ...place.data },
  })
}
