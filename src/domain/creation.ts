import type { AgentFiles } from './agent-files.ts'
import type { Settings } from './config.ts'
import { AwError } from './errors.ts'
import { nearest } from './nearest.ts'
import type { WorkspaceConfig } from './workspace/state.ts'

/** Texts that come with a workspace. They are kept beside the log, which holds only their hash. */
export interface Documents {
  readonly claude_md?: string | undefined
  readonly agent_files?: AgentFiles | undefined
  /** Which files get these texts besides the usual ones. */
  readonly agent_file_names?: readonly string[] | undefined
  readonly task_spec?: Readonly<Record<string, unknown>> | undefined
  readonly context?: Readonly<Record<string, unknown>> | undefined
  readonly run?: Readonly<Record<string, unknown>> | undefined
}

type Fields = Readonly<Record<string, unknown>>

/** The `config` map of a caller, checked and completed from the settings, with the texts set apart. */
export function readWorkspaceConfig(
  config: Fields,
  settings: Settings,
): { config: WorkspaceConfig; documents: Documents } {
  for (const key of Object.keys(config)) if (!known.includes(key)) throw unknownKey(key)
  const git = fields(config, 'git_config')
  return {
    config: {
      max_size_mb: number(config, 'max_size_mb', settings['workspaces.max_size_mb']),
      allowed_operations: operations(config['allowed_operations']),
      git_config: {
        enabled: flag(git, 'enabled', settings['git.enabled']),
        user_name: text(git, 'user_name', settings['git.user_name']),
        user_email: text(git, 'user_email', settings['git.user_email']),
      },
    },
    documents: {
      claude_md: 'claude_md' in config ? text(config, 'claude_md', '') : undefined,
      agent_files: 'agent_files' in config ? agentFiles(fields(config, 'agent_files')) : undefined,
      agent_file_names: 'agent_file_names' in config ? fileNames(config['agent_file_names']) : undefined,
      task_spec: 'task_spec' in config ? fields(config, 'task_spec') : undefined,
      context: 'context' in config ? fields(config, 'context') : undefined,
      run: 'run' in config ? fields(config, 'run') : undefined,
    },
  }
}

const given = [
  'max_size_mb',
  'allowed_operations',
  'git_config',
  'claude_md',
  'agent_files',
  'agent_file_names',
  'task_spec',
  'context',
  'run',
]
/** Callers may give these too; they follow from the workspace and are not taken from the caller. */
const derived = ['task_id', 'agent_id', 'workspace_path', 'created_at']
const known = [...given, ...derived]
const allOperations = ['read', 'write', 'execute']

function operations(value: unknown): string[] {
  if (value === undefined) return allOperations
  if (Array.isArray(value) && value.every((item: unknown) => allOperations.includes(item as string)))
    return [...new Set<string>(value)]
  throw wrong('allowed_operations', `a list of ${allOperations.join(', ')}`)
}

function agentFiles(value: Fields): AgentFiles {
  return { blocks: texts(value, 'blocks'), variables: texts(value, 'variables') }
}

function fileNames(value: unknown): string[] {
  const isName = (name: unknown): name is string => typeof name === 'string' && /^[\w.-]{1,80}$/.test(name)
  if (Array.isArray(value) && value.every(isName) && !value.some((name) => /^\.+$/.test(name))) return [...value]
  throw wrong('agent_file_names', 'a list of plain names, as GEMINI.md')
}

function texts(value: Fields, key: string): Record<string, string> {
  const map = fields(value, key)
  for (const [name, item] of Object.entries(map))
    if (typeof item !== 'string') throw wrong(`agent_files.${key}.${name}`, 'text')
  return { ...map } as Record<string, string>
}

function fields(value: Fields, key: string): Fields {
  const inner = value[key] ?? {}
  if (typeof inner === 'object' && !Array.isArray(inner)) return inner as Fields
  throw wrong(key, 'an object')
}

/** A million terabytes, as `aw limit` takes it too: in bytes the kernel can still count it, and the sum of many. */
const mostMb = 999_999_999_999

function number(value: Fields, key: string, fallback: number): number {
  const inner = value[key] ?? fallback
  if (Number.isSafeInteger(inner) && (inner as number) >= 0 && (inner as number) <= mostMb) return inner as number
  throw wrong(key, `a whole number, from 0 (no limit) to ${mostMb}`)
}

function flag(value: Fields, key: string, fallback: boolean): boolean {
  const inner = value[key] ?? fallback
  if (typeof inner === 'boolean') return inner
  throw wrong(`git_config.${key}`, 'true or false')
}

function text(value: Fields, key: string, fallback: string): string {
  const inner = value[key] ?? fallback
  if (typeof inner === 'string' && !inner.includes('\0')) return inner
  throw wrong(key, 'text')
}

const wrong = (key: string, expected: string): AwError =>
  new AwError('invalid_input', `config.${key} must be ${expected}`, { data: { field: `config.${key}` } })

function unknownKey(key: string): AwError {
  const close = nearest(key, given)
  return new AwError('invalid_input', `There is no field config.${key}`, {
    hint: close === undefined ? `Known are: ${given.join(', ')}` : `Did you mean ${close}?`,
    data: { field: `config.${key}`, known: given },
  })
}
