import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { hunksOf } from '../../domain/text-diff.ts'
import type { Arguments } from '../arguments.ts'
import type { Globals } from '../globals.ts'
import type { Io } from '../io.ts'
import { confirmed } from './ask.ts'
import { commandsIn, withHooks, withoutHooks } from './claude-settings.ts'

const scopes = ['user', 'project', 'local'] as const
type Scope = (typeof scopes)[number]
type Verb = 'install' | 'uninstall'
type UserFile = Awaited<ReturnType<typeof settingsOf>>

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
  const before = file.text ?? ''
  const command = commandLine(scope, globals, io)
  if (verb === 'install') await assertNowhereElse(scope, file, globals, io)
  const after = (verb === 'install' ? withHooks : withoutHooks)(file.path, before, command)
  const change = { scope, file: file.path, changed: after !== before, diff: diffOf(file, after) }
  if (!change.changed) return told(verb, change, globals, io)
  if (!globals.json) await io.stdout.write(change.diff)
  if (file.linked) await io.stderr.write(`aw: the settings are a link: ${file.path} is what changes\n`)
  if (isOn(fields, 'dry_run')) return globals.json ? told(verb, change, globals, io) : 0
  if (!isOn(fields, 'yes') && !(await confirmed(`Change ${file.path}?`, io))) {
    await io.stderr.write('Nothing was changed\n')
    return 1
  }
  const { usersOwn } = await import('../../aw.ts')
  const { replaceUserFile } = await usersOwn()
  replaceUserFile(file, after)
  return told(verb, change, globals, io)
}

interface Change {
  readonly scope: Scope
  readonly file: string
  readonly changed: boolean
  readonly diff: string
}

async function told(verb: Verb, change: Change, globals: Globals, io: Io): Promise<number> {
  if (globals.json) await io.stdout.write(`${JSON.stringify(change)}\n`)
  else if (!globals.quiet) await io.stderr.write(`${resultText(verb, change)}\n`)
  return 0
}

function resultText(verb: Verb, { file, changed }: Change): string {
  const is = verb === 'install' ? 'installed' : 'not installed'
  if (!changed) return `The hooks are ${is} in ${file}; nothing to change`
  if (verb === 'uninstall') return `Removed from ${file}. Workspaces stay as they are: aw list`
  return `Installed in ${file}. Sessions that begin from now on get their worktrees from aw`
}

const isOn = (fields: Arguments['fields'], name: string): boolean => fields.get(name)?.at(-1) === 'true'

function scopeOf(text = 'user'): Scope {
  const found = scopes.find((scope) => scope === text)
  if (found !== undefined) return found
  throw new AwError('invalid_input', `--scope is ${JSON.stringify(text)}; it must be one of ${scopes.join(', ')}`, {
    data: { flag: '--scope', allowed: scopes },
  })
}

/** Where Claude Code looks when it is started in this directory. What a project holds must not lead us out of it. */
async function settingsOf(scope: Scope, { env, cwd }: Io) {
  const { usersOwn } = await import('../../aw.ts')
  const { readUserFile } = await usersOwn()
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

function diffOf({ path, text = '' }: UserFile, after: string): string {
  const hunks = hunksOf(text, after)
  return hunks.length === 0 ? '' : [`--- ${path}`, `+++ ${path}`, ...hunks].map((line) => `${line}\n`).join('')
}

/**
 * Settings that are shared name the command as everybody has it; others name the very one that runs now. `exec`: a shell
 * that waits for us in the worktree would look like somebody who still works there.
 */
function commandLine(scope: Scope, { home, configFile }: Globals, { env, cwd }: Io): string {
  const program = scope === 'project' ? ['aw'] : ownProgram(env['PATH'] ?? '')
  const place = Object.entries({ '--home': home, '--config-file': configFile }).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, resolve(cwd, value)],
  )
  return ['exec', ...[...program, ...place, 'hook', 'claude'].map(quoted)].join(' ')
}

/** By the name on the search path, which stays when a new version is installed; else by this program and its Node. */
function ownProgram(searchPath: string): string[] {
  const script = process.argv[1] ?? ''
  const own = realOf(script)
  const onPath = searchPath
    .split(delimiter)
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, 'aw'))
    .find((file) => own !== undefined && realOf(file) === own)
  return onPath === undefined ? [process.execPath, own ?? script] : [onPath]
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

/** For every shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
