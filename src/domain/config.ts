import { configKeys, type Key, type Kind } from './config-keys.ts'
import { AwError } from './errors.ts'
import { longestMs } from './longest.ts'
import { nearest } from './nearest.ts'
import { parseLabelLimits } from './space-limits.ts'

export { configKeys }

export type ConfigKey = keyof typeof configKeys
type Value<K extends Key> = K['kind'] extends 'count' | 'positive' | 'milliseconds' | 'mode' | 'directory mode'
  ? number
  : K['kind'] extends 'switch'
    ? boolean
    : K['kind'] extends readonly (infer V)[]
      ? V
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
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** `--set section.key=value` */
  readonly set?: Readonly<Record<string, string>> | undefined
}

/** Later sources win: defaults, file, environment, flags. The whole is checked, and what is unknown is refused. */
export function resolveConfig(sources: ConfigSources): Config {
  const settings: Record<string, unknown> = {}
  const origins: Record<string, Origin> = {}
  const put = (key: string, value: unknown, origin: Origin): void => {
    settings[key] = checked(key, value, origin)
    origins[key] = origin
  }
  for (const [key, { default: value }] of Object.entries(configKeys)) {
    settings[key] = value
    origins[key] = 'default'
  }
  for (const [key, value] of flatten(sources.file ?? {})) put(key, value, 'file')
  assertVariables(sources.env ?? {})
  for (const key of Object.keys(configKeys)) {
    const value = sources.env?.[variableOf(key)]
    if (value !== undefined) put(key, value, 'environment')
  }
  for (const [key, value] of Object.entries(sources.set ?? {})) put(key, value, 'flag')
  return { settings: settings as unknown as Settings, origins: origins as Record<ConfigKey, Origin> }
}

export const variableOf = (key: string): string => `AW_${key.replace('.', '_').toUpperCase()}`

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
  const known = [...Object.keys(configKeys).map(variableOf), ...ownVariables, ...givenVariables]
  const sections = Object.keys(configKeys).map((key) => variableOf(`${key.split('.')[0]}.`))
  for (const name of ours) {
    if (known.includes(name)) continue
    const close = nearest(name, known, name.length > 15 ? 2 : 1)
    if (close === undefined && !sections.some((section) => name.startsWith(section))) continue
    throw unknownKey(name, 'environment', close ?? nearest(name, known))
  }
}

function flatten(file: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(file).flatMap(([section, value]): [string, unknown][] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[section, value]]
    return Object.entries(value).map(([key, inner]): [string, unknown] => [`${section}.${key}`, inner])
  })
}

function checked(key: string, value: unknown, origin: Origin): unknown {
  if (!Object.hasOwn(configKeys, key)) throw unknownKey(key, origin)
  const { kind } = configKeys[key as ConfigKey] as Key
  const result = kind === 'text' ? asText(value) : fromText(kind, value)
  if (result !== undefined) return result
  const wanted = typeof kind === 'object' ? `one of ${kind.join(', ')}` : expectations[kind]
  throw new AwError('invalid_config', `${key} is ${shown(value)} (${origin}); it must be ${wanted}`, {
    hint: (configKeys[key as ConfigKey] as Key).about,
    data: { key, origin },
  })
}

/** TOML has numbers that JSON has not: nan, inf. */
const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : JSON.stringify(value))

const expectations = {
  'label limits': 'a list of LABEL=VALUE:MB, each label once and above 0 MB, as in team=web:5000, user=ann:20000',
  text: 'text without a NUL byte',
  count: 'a whole number, 0 or more',
  positive: 'a whole number, 1 or more',
  milliseconds: 'a whole number, from 0 to 2147483647 (24 days): no clock counts further',
  switch: 'true or false',
  mode: 'an octal mode such as 0644 that lets its owner read and write (0600)',
  'directory mode': 'an octal mode such as 0755 that lets its owner read, write and enter (0700)',
} as const

const asText = (value: unknown): string | undefined =>
  typeof value === 'string' && !value.includes('\0') ? value : undefined

function fromText(kind: Exclude<Kind, 'text'>, value: unknown): unknown {
  if (kind === 'label limits') return typeof value === 'string' && parseLabelLimits(value) ? value : undefined
  if (kind === 'switch') return typeof value === 'boolean' ? value : { true: true, false: false }[String(value)]
  if (kind === 'count') return count(value)
  if (kind === 'positive') return count(value) || undefined
  if (kind === 'milliseconds') return count(value, longestMs)
  if (kind === 'mode') return mode(value, 0o600)
  if (kind === 'directory mode') return mode(value, 0o700)
  return typeof value === 'string' && kind.includes(value) ? value : undefined
}

function count(value: unknown, most = Number.MAX_SAFE_INTEGER): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) && (number as number) >= 0 && (number as number) <= most
    ? (number as number)
    : undefined
}

/** Octal text, or a number from a TOML octal literal. A mode that locks its owner out would break the workspace. */
function mode(value: unknown, owner: number): number | undefined {
  const number =
    typeof value === 'string' && /^(0o)?[0-7]{3,4}$/.test(value) ? Number.parseInt(value.replace('0o', ''), 8) : value
  if (!Number.isSafeInteger(number)) return undefined
  const bits = number as number
  return bits >= 0 && bits <= 0o7777 && (bits & owner) === owner ? bits : undefined
}

function unknownKey(key: string, origin: Origin, close = nearest(key, Object.keys(configKeys))): AwError {
  return new AwError('invalid_config', `There is no setting ${key} (${origin})`, {
    hint: close === undefined ? 'See them all with: aw config show' : `Did you mean ${close}?`,
    data: { key, origin },
  })
}
