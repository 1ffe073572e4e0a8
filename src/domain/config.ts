import { AwError } from './errors.ts'
import { nearest } from './nearest.ts'
import { parseLabelLimits } from './space-limits.ts'

/** How a setting's value is written and checked. */
type Kind = 'text' | 'label limits' | 'count' | 'switch' | 'mode' | 'directory mode' | readonly string[]

interface Key {
  readonly kind: Kind
  readonly default: string | number | boolean
  readonly about: string
}

/** Every setting. `aw.toml` has them as `[section] key`, the environment as AW_SECTION_KEY, `--set` as section.key */
export const configKeys = {
  'workspaces.base_path': {
    kind: 'text',
    default: '',
    about: 'Where workspaces are found, as BASE/TASK/AGENT; empty means HOME/workspaces; relative to the home',
  },
  'workspaces.profile': {
    kind: ['aw', 'ipa', 'repo', 'session'],
    default: 'aw',
    about: 'Layout of a workspace that does not ask for one',
  },
  'workspaces.max_size_mb': {
    kind: 'count',
    default: 1000,
    about: 'Size limit written into a workspace that does not ask for one',
  },
  'workspaces.max_workspaces': {
    kind: 'count',
    default: 0,
    about: 'How many workspaces may be live at once; 0 means as many as fit',
  },
  'workspaces.dir_mode': {
    kind: 'directory mode',
    default: 0o755,
    about: 'Mode of directories that aw makes in a workspace',
  },
  'workspaces.file_mode': { kind: 'mode', default: 0o644, about: 'Mode of files that aw makes in a workspace' },
  'storage.root': {
    kind: 'text',
    default: '',
    about: 'The directory that holds the trees, on one mount; empty means HOME/storage; relative to the home',
  },
  'storage.driver': {
    kind: ['auto', 'btrfs', 'overlay', 'dir'],
    default: 'auto',
    about: 'How trees are kept; auto takes the best that works when the storage root is made, and keeps to it',
  },
  'space.min_free_mb': { kind: 'count', default: 64, about: 'No workspace is made when less space than this is free' },
  'space.reserve_mb': {
    kind: 'count',
    default: 4,
    about: 'Space that is kept in the home to destroy and erase with when the disk is full; 0 keeps none',
  },
  'space.budget_mb': {
    kind: 'count',
    default: 0,
    about: 'What all live workspaces may grow to together, the sum of their max_size_mb; 0 means no limit',
  },
  'space.per_repo_mb': {
    kind: 'count',
    default: 0,
    about: 'The same for the live workspaces of each repository, forks included; 0 means no limit',
  },
  'space.per_label': {
    kind: 'label limits',
    default: '',
    about: 'The same for the live workspaces with a label, in MB: team=web:5000, user=ann:20000',
  },
  'space.warn_percent': {
    kind: 'count',
    default: 85,
    about: 'aw doctor and aw usage warn when so much of the disk, of its inodes or of a budget is taken; 0 never warns',
  },
  'snapshots.max': {
    kind: 'count',
    default: 20,
    about: 'Snapshots a workspace may have besides safety copies; automatic ones make room; 0 is no limit',
  },
  'snapshots.safety_mb': {
    kind: 'count',
    default: 10240,
    about:
      'Space that the safety copies of a workspace may take before gc erases the oldest; counted are the files in which each differs from the next newer one, or the newest from the snapshot before it; 0 is no limit',
  },
  'trash.retention_days': {
    kind: 'count',
    default: 7,
    about: 'How long a destroyed workspace can be brought back before aw gc erases it',
  },
  'workspaces.retention_days': {
    kind: 'count',
    default: 0,
    about:
      'aw gc moves a workspace to the trash that was not used for so long: nothing was done with it through aw and nobody had a lease; 0 means never',
  },
  'bases.retention_days': {
    kind: 'count',
    default: 14,
    about:
      'How long a base that no workspace began as, or what was fetched of a repository, stays unused before aw gc erases it; it is made again when it is needed',
  },
  'space.high_percent': {
    kind: 'count',
    default: 0,
    about:
      'When the storage is fuller than this, aw gc also erases what could stay, and moves the least recently used workspaces to the trash; 0 means never',
  },
  'space.low_percent': {
    kind: 'count',
    default: 0,
    about: 'How full the storage may be for aw gc to stop doing so; 0 means ten percent below space.high_percent',
  },
  'archive.before_expiry': {
    kind: 'switch',
    default: false,
    about: 'Pack a workspace that expired into a file before aw gc erases it from the trash',
  },
  'archive.directory': {
    kind: 'text',
    default: '',
    about: 'Where these files are; empty means HOME/archives; relative to the home',
  },
  'archive.retention_days': {
    kind: 'count',
    default: 0,
    about: 'How long aw gc leaves these files; 0 means for ever',
  },
  'shutdown.policy': {
    kind: ['keep', 'stop', 'trash'],
    default: 'keep',
    about: 'What aw shutdown does with workspaces: leave them, end what runs around them, or move them to the trash',
  },
  'shutdown.timeout_ms': {
    kind: 'count',
    default: 5000,
    about: 'How long aw shutdown may take',
  },
  'git.enabled': {
    kind: 'switch',
    default: false,
    about: 'Make a git repository in a new workspace that does not say',
  },
  'git.shallow': {
    kind: 'switch',
    default: true,
    about: 'Take a repository without its history, unless a workspace asks for all of it',
  },
  'git.default_branch': {
    kind: 'text',
    default: '',
    about: 'The branch of a repository to start from; empty means its own default branch',
  },
  'git.user_name': {
    kind: 'text',
    default: 'aw agent',
    about: 'Name for commits in that repository',
  },
  'git.user_email': {
    kind: 'text',
    default: 'agent@aw.invalid',
    about: 'Address for commits in that repository',
  },
  'files.max_read_mb': { kind: 'count', default: 64, about: 'Largest file that is read in one piece' },
  'locks.timeout_ms': {
    kind: 'count',
    default: 10_000,
    about: 'How long to wait for another operation on a workspace',
  },
  'locks.expiry_minutes': {
    kind: 'count',
    default: 60,
    about: 'When an operation of another host, whose process cannot be looked at from here, counts as given up',
  },
  'log.checkpoint_every': { kind: 'count', default: 256, about: 'Seal the log after so many events' },
} as const satisfies Record<string, Key>

export type ConfigKey = keyof typeof configKeys
type Value<K extends Key> = K['kind'] extends 'count' | 'mode' | 'directory mode'
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
const ownVariables = ['AW_HOME', 'AW_CONFIG', 'AW_RESOLVER', 'AW_DEBUG', 'AW_CRASH_AT', 'AW_BENCH_DIR', 'AW_RUNS']
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
    const close = nearest(name, known, name.length > 12 ? 2 : 1)
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
  throw new AwError('invalid_config', `${key} is ${JSON.stringify(value)} (${origin}); it must be ${wanted}`, {
    hint: (configKeys[key as ConfigKey] as Key).about,
    data: { key, origin },
  })
}

const expectations = {
  'label limits': 'a list of LABEL=VALUE:MB, each label once and above 0 MB, as in team=web:5000, user=ann:20000',
  text: 'text without a NUL byte',
  count: 'a whole number, 0 or more',
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
  if (kind === 'mode') return mode(value, 0o600)
  if (kind === 'directory mode') return mode(value, 0o700)
  return typeof value === 'string' && kind.includes(value) ? value : undefined
}

function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined
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
