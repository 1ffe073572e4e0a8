import type { RemoteUrl } from '../../domain/git/url.ts'
import { safePath } from '../processes/run.ts'

/** What git is run with. There are two kinds: one knows nothing of anybody, the other is the user's own. */

type Environment = Record<string, string>
type Setting = readonly [key: string, value: string]

/**
 * For work on what others have written: nothing of the user's or the machine's configuration takes part, so nothing is
 * configured that could run; nothing is fetched, and nobody is asked.
 */
export const hardenedEnvironment = (repository: string, more: Environment = {}): Environment =>
  configured(repository, [], more)

/** The same in a tree that is made durable as a whole, later: git does not wait for the disk. */
export const hardenedTreeEnvironment = (repository: string, more: Environment = {}): Environment =>
  configured(repository, [['core.fsync', 'none']], more)

function configured(repository: string, own: readonly Setting[], more: Environment): Environment {
  return {
    // What git needs besides itself it finds where it was installed.
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    HOME: '/nonexistent',
    XDG_CONFIG_HOME: '/nonexistent',
    GIT_DIR: repository,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_PROGRESS_DELAY: '0',
    ...settings([...guards, ...trees, ...own], 0),
    ...more,
  }
}

const guards: readonly Setting[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
]

const trees: readonly Setting[] = [
  ['index.version', '2'],
  ['core.splitIndex', 'false'],
  ['core.untrackedCache', 'false'],
  ['checkout.workers', '0'],
]

/**
 * For what asks a remote: the user's home, agent and credential helpers are what lets us in, so they take part. It only
 * ever works in repositories of our own, and can bring nothing but objects over https or ssh.
 * @param sshCommand what the user has configured to be run for ssh, if anything
 */
export function userEnvironment(url: RemoteUrl, sshCommand: string | undefined, avoid: readonly string[]): Environment {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isKept(entry[0]),
  )
  const given = Number(process.env['GIT_CONFIG_COUNT'] ?? 0) || 0
  const ssh = sshCommand === undefined && process.env['GIT_SSH'] === undefined ? quietSsh : undefined
  return {
    ...Object.fromEntries(kept),
    // Helpers are found by their names: not where agents work.
    PATH: safePath(avoid),
    LC_ALL: 'C',
    // Set and empty: neither the configured program nor that of ssh is asked.
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_TERMINAL_PROMPT: '0',
    GCM_INTERACTIVE: 'never',
    GIT_ALLOW_PROTOCOL: 'https:ssh',
    GIT_NO_LAZY_FETCH: '1',
    GIT_PROGRESS_DELAY: '0',
    GIT_DEFAULT_REF_FORMAT: 'files',
    ...(ssh === undefined ? {} : { GIT_SSH_COMMAND: ssh }),
    ...settings([...guards, ...transfers, ...tolerated, ...access(url)], given),
    ...secrets(url),
  }
}

const quietSsh =
  'ssh -o BatchMode=yes -o ConnectTimeout=20 -o ConnectionAttempts=1 -o ServerAliveInterval=15 -o ServerAliveCountMax=4'

/** Of git's own variables those that say how to get in; the others say what to work on, and that is ours to say. */
const isKept = (name: string): boolean =>
  !name.startsWith('GIT_') ||
  /^GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|PROXY_\w+|HTTP_\w+|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|(?:KEY|VALUE)_\d+))$/.test(
    name,
  )

const transfers: readonly Setting[] = [
  ['transfer.fsckObjects', 'true'],
  ['fetch.fsckObjects', 'true'],
  ['transfer.unpackLimit', '1'],
  ['fetch.unpackLimit', '1'],
  ['transfer.bundleURI', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['fetch.writeCommitGraph', 'false'],
  ['fetch.prune', 'false'],
  ['fetch.pruneTags', 'false'],
  ['http.followRedirects', 'initial'],
  ['http.lowSpeedLimit', '1000'],
  ['http.lowSpeedTime', '60'],
]

/** Blemishes that well-known repositories have in their history and that can do no harm. */
const tolerated: readonly Setting[] = [
  'badDate',
  'badDateOverflow',
  'badEmail',
  'badFilemode',
  'badName',
  'badTagName',
  'badTimezone',
  'emptyName',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'missingTaggerEntry',
  'multipleAuthors',
  'nulInCommit',
  'zeroPaddedDate',
  'zeroPaddedFilemode',
].map((name) => [`fetch.fsck.${name}`, 'ignore'])

/** For what is brought from a repository of ours into one of the user's: everything is checked once more. */
export const transferGuards = (): Environment => settings([...guards, ...trees, ...transfers, ...tolerated], 0)

/** The same blemishes, as `index-pack` is told of them. */
export const lenientFsck = tolerated.map(([key]) => `${key.slice('fetch.fsck.'.length)}=ignore`).join(',')

/**
 * Credentials of a url never stand in a command line, where every user of the machine could read them: a helper that is
 * one line of shell hands them over, to their own site only. With a password the user's helpers have no part in it, and
 * so do not keep it either.
 */
function access({ credentials }: RemoteUrl): Setting[] {
  if (credentials === null) return []
  const { site, password } = credentials
  const helper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$AW_GIT_USER" "$AW_GIT_PASSWORD"; }; f`
  return [
    ...(password === null ? [] : [['credential.helper', ''] as const]),
    [`credential.${site}.username`, credentials.user],
    [`credential.${site}.helper`, helper],
  ]
}

const secrets = ({ credentials }: RemoteUrl): Environment =>
  credentials === null ? {} : { AW_GIT_USER: credentials.user, AW_GIT_PASSWORD: credentials.password ?? '' }

/** As git takes settings from its environment: they win over every file. */
function settings(list: readonly Setting[], from: number): Environment {
  const pairs = list.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${from + index}`, key] as const,
    [`GIT_CONFIG_VALUE_${from + index}`, value] as const,
  ])
  return { GIT_CONFIG_COUNT: String(from + list.length), ...Object.fromEntries<string>(pairs) }
}
