import type { UserFile } from '../../aw.ts'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { Arguments } from '../input/arguments.ts'
import type { Globals } from '../input/globals.ts'
import type { Io } from '../io.ts'
import { changeUserFile } from '../user-file/change.ts'
import { selfCommand, sharedCommand } from '../user-file/self-command.ts'
import { claudeConfiguration } from './claude.ts'
import { codexConfiguration } from './codex.ts'
import { serverName, type Configuration, type ServerEntry } from './server-entry.ts'

const scopes = ['user', 'project'] as const
type Scope = (typeof scopes)[number]

interface Client extends Configuration {
  readonly title: string
  /** Where it looks when it is started in this directory. */
  readonly place: (scope: Scope, io: Io) => string
}

const homeOf = ({ env }: Io): string => env['HOME'] || homedir()

const clients: Readonly<Record<string, Client>> = {
  claude: {
    ...claudeConfiguration,
    title: 'Claude Code',
    place: (scope, io) =>
      scope === 'user' ? join(io.env['CLAUDE_CONFIG_DIR'] || homeOf(io), '.claude.json') : join(io.cwd, '.mcp.json'),
  },
  codex: {
    ...codexConfiguration,
    title: 'Codex',
    place: (scope, io) =>
      scope === 'user'
        ? join(io.env['CODEX_HOME'] || join(homeOf(io), '.codex'), 'config.toml')
        : join(io.cwd, '.codex', 'config.toml'),
  },
}

/**
 * `aw mcp install CLIENT` and `aw mcp uninstall CLIENT`: shows what will change in the configuration of an agent, asks,
 * and changes it. The same again changes nothing.
 */
export async function changeConfiguration(
  verb: 'install' | 'uninstall',
  name: string,
  fields: Arguments['fields'],
  globals: Globals,
  io: Io,
): Promise<number> {
  const client = Object.hasOwn(clients, name) ? clients[name] : undefined
  if (client === undefined) throw unknown('The client', name, Object.keys(clients))
  const scope = scopeOf(fields.get('scope')?.at(-1))
  const file = await fileOf(client, scope, io)
  const entry = entryOf(scope, fields.get('workspace')?.at(-1), globals, io)
  const after = (verb === 'install' ? client.with : client.without)(file.path, file.text ?? '', entry)
  const is = verb === 'install' ? 'installed' : 'not installed'
  const wanted = {
    file,
    after,
    about: { client: name, scope },
    unchanged: `The server ${serverName} is ${is} in ${file.path}; nothing to change`,
    changed:
      verb === 'uninstall'
        ? `Removed from ${file.path}`
        : `Installed in ${file.path}. Sessions of ${client.title} that begin from now on have the tools of aw`,
  }
  return changeUserFile(wanted, fields, globals, io)
}

/** What a project holds must not lead us out of it. */
async function fileOf(client: Client, scope: Scope, io: Io): Promise<UserFile> {
  const { readUserFile } = await import('../../aw.ts')
  return readUserFile(client.place(scope, io), scope === 'user' ? { mode: 0o600 } : { within: io.cwd, mode: 0o644 })
}

/** A configuration that is shared names the command as everybody has it. */
function entryOf(scope: Scope, workspace: string | undefined, globals: Globals, io: Io): ServerEntry {
  const [command = '', ...args] = scope === 'project' ? sharedCommand(globals, io) : selfCommand(globals, io)
  return { command, args: [...args, 'mcp', ...(workspace === undefined ? [] : ['--workspace', workspace])] }
}

function scopeOf(text = 'user'): Scope {
  const found = scopes.find((scope) => scope === text)
  if (found !== undefined) return found
  throw unknown('--scope', text, scopes)
}

const unknown = (what: string, given: string, allowed: readonly string[]): AwError =>
  new AwError('invalid_input', `${what} is ${JSON.stringify(given)}; it must be one of ${allowed.join(', ')}`, {
    data: { given, allowed },
  })
