import { AwError } from '../../domain/errors.ts'

/** Flags that every command takes. A command's own flag of the same name wins after the command's words. */
export interface GlobalFlag {
  readonly name: string
  readonly short?: string
  /** What stands for its value in help; none for a switch. */
  readonly value?: string
  readonly choices?: readonly string[]
  readonly about: string
}

export const globalFlags: readonly GlobalFlag[] = [
  { name: 'home', value: 'DIR', about: 'Where aw keeps its log and workspaces (also AW_HOME; default ~/.aw)' },
  { name: 'config-file', value: 'FILE', about: 'Read this file instead of aw.toml in the home (also AW_CONFIG)' },
  { name: 'set', value: 'KEY=VALUE', about: 'Override a setting of aw.toml; may be repeated' },
  { name: 'lease', value: 'ID', about: 'Do it under this lease; refused if it is not held any more (also AW_LEASE)' },
  { name: 'json', about: 'Print JSON; errors are one JSON object on standard error' },
  { name: 'format', value: 'FORMAT', choices: ['text', 'json'], about: 'The same choice as a word' },
  { name: 'quiet', short: 'q', about: 'Print results only: no notes, no progress, no confirmations' },
  { name: 'no-color', about: 'No colours (also NO_COLOR)' },
  { name: 'help', short: 'h', about: 'Show help for the command' },
  { name: 'version', short: 'V', about: 'Print the version' },
]

export interface Globals {
  readonly home?: string
  readonly configFile?: string
  readonly lease?: string
  readonly set: Readonly<Record<string, string>>
  readonly json: boolean
  readonly quiet: boolean
  readonly noColor: boolean
  readonly help: boolean
  readonly version: boolean
}

export function findGlobal(token: string): GlobalFlag | undefined {
  return globalFlags.find(
    (flag) => token === `--${flag.name}` || (flag.short !== undefined && token === `-${flag.short}`),
  )
}

/** What the values given to global flags mean. For a flag given twice the last one counts, except `--set`. */
export function readGlobals(given: ReadonlyMap<string, readonly string[]>): Globals {
  const last = (name: string): string | undefined => given.get(name)?.at(-1)
  const home = last('home')
  const configFile = last('config-file')
  const lease = last('lease')
  return {
    ...(home === undefined ? {} : { home }),
    ...(configFile === undefined ? {} : { configFile }),
    ...(lease === undefined ? {} : { lease }),
    set: Object.fromEntries((given.get('set') ?? []).map((text) => splitPair(text, '--set'))),
    json: given.has('json') || format(last('format')) === 'json',
    quiet: given.has('quiet'),
    noColor: given.has('no-color'),
    help: given.has('help'),
    version: given.has('version'),
  }
}

/** Those before the command's words and those after them. */
export function mergeGlobals(
  first: ReadonlyMap<string, readonly string[]>,
  second: ReadonlyMap<string, readonly string[]>,
): Map<string, readonly string[]> {
  const merged = new Map(first)
  for (const [name, values] of second) merged.set(name, [...(merged.get(name) ?? []), ...values])
  return merged
}

/** Asked before anything is parsed: an error in the flags must have the form the caller wanted. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const flags = end === -1 ? args : args.slice(0, end)
  return flags.some(
    (token, i) => token === '--json' || token === '--format=json' || (token === '--format' && flags[i + 1] === 'json'),
  )
}

export function splitPair(text: string, flag: string): [string, string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw new AwError('invalid_input', `${flag} takes KEY=VALUE, not ${JSON.stringify(text)}`, {
    hint: `For instance: ${flag} colour=green`,
    data: { flag },
  })
}

function format(text: string | undefined): string | undefined {
  if (text === undefined || text === 'json' || text === 'text') return text
  throw new AwError('invalid_input', `--format is ${JSON.stringify(text)}; it must be text or json`, {
    data: { flag: '--format', allowed: ['text', 'json'] },
  })
}
