import type { UserFile } from '../../aw.ts'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { Arguments } from '../input/arguments.ts'
import type { Globals } from '../input/globals.ts'
import type { Io } from '../io.ts'
import { changeUserFile } from '../user-file/change.ts'
import { selfCommand, sharedCommand } from '../user-file/self-command.ts'
import { commandsIn, withHooks, withoutHooks } from './claude-settings.ts'

const scopes = ['user', 'project', 'local'] as const
type Scope = (typeof scopes)[number]
type Verb = 'install' | 'uninstall'

/**
 * `aw hook install claude` and `aw hook uninstall claude`: shows what will change in a settings file of Claude Code, asks,
 * and changes it. The same again changes nothing.
 */
export async function changeSettings(
  verb: Verb,
  fields: Arguments['fields'],
  globals: Globals,
  io: Io,
): Promise<number> {
  const scope = scopeOf(fields.get('scope')?.at(-1))
  const file = await settingsOf(scope, io)
  const command = commandLine(scope, globals, io)
  if (verb === 'install') await assertNowhereElse(scope, file, globals, io)
  const after = (verb === 'install' ? withHooks : withoutHooks)(file.path, file.text ?? '', command)
  const is = verb === 'install' ? 'installed' : 'not installed'
  const wanted = {
    file,
    after,
    about: { scope },
    unchanged: `The hooks are ${is} in ${file.path}; nothing to change`,
    changed:
      verb === 'uninstall'
        ? `Removed from ${file.path}. Workspaces stay as they are: aw list`
        : `Installed in ${file.path}. Sessions that begin from now on get their worktrees from aw`,
  }
  return changeUserFile(wanted, fields, globals, io)
}

function scopeOf(text = 'user'): Scope {
  const found = scopes.find((scope) => scope === text)
  if (found !== undefined) return found
  throw new AwError('invalid_input', `--scope is ${JSON.stringify(text)}; it must be one of ${scopes.join(', ')}`, {
    data: { flag: '--scope', allowed: scopes },
  })
}

/** Where Claude Code looks when it is started in this directory. What a project holds must not lead us out of it. */
async function settingsOf(scope: Scope, { env, cwd }: Io): Promise<UserFile> {
  const { readUserFile } = await import('../../aw.ts')
  if (scope === 'user')
    return readUserFile(join(env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude'), 'settings.json'), {
      mode: 0o600,
    })
  const name = scope === 'project' ? 'settings.json' : 'settings.local.json'
  return readUserFile(join(cwd, '.claude', name), { within: cwd, mode: scope === 'project' ? 0o644 : 0o600 })
}

/** Claude Code runs the hooks of all scopes: two that make work trees would make two for each. */
async function assertNowhereElse(scope: Scope, target: UserFile, globals: Globals, io: Io): Promise<void> {
  for (const other of scopes.filter((name) => name !== scope)) {
    const { path, text = '' } = await settingsOf(other, io)
    // In the home directory itself, the settings of the project are those of the user.
    if (path === target.path) continue
    const [found] = commandsIn(path, text, commandLine(other, globals, io))
    if (found === undefined) continue
    throw new AwError(
      'invalid_config',
      `${path} has a command for work trees already: ${found.command.slice(0, 200)}`,
      {
        hint: found.ours
          ? `It is enough to have it once; remove it with: aw hook uninstall claude --scope ${other}`
          : 'Claude Code would run both for each work tree. Remove that one first, then run this again',
        data: { file: path, command: found.command },
      },
    )
  }
}

/**
 * Settings that are shared name the command as everybody has it; others name the very one that runs now. `exec`: a shell
 * that waits for us in the worktree would look like somebody who still works there.
 */
function commandLine(scope: Scope, globals: Globals, io: Io): string {
  const program = scope === 'project' ? sharedCommand(globals, io) : selfCommand(globals, io)
  return ['exec', ...[...program, 'hook', 'claude'].map(quoted)].join(' ')
}

/** For every shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
