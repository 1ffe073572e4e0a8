import type { AgentFiles } from '../workspace/agent-files.ts'
import type { Settings } from '../config/config.ts'
import { AwError } from '../errors.ts'
import type { WorkspaceConfig } from '../workspace/state.ts'

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
type Texts = Readonly<Record<string, string>>
type Given<T> = { readonly [K in keyof T]?: T[K] | null | undefined }

/** The `config` map of a caller, of which the operation table has checked names and types. */
export interface CallerConfig {
  readonly max_size_mb?: number | null | undefined
  readonly allowed_operations?: readonly string[] | undefined
  readonly git_config?: Given<WorkspaceConfig['git_config']> | null | undefined
  readonly claude_md?: string | null | undefined
  readonly agent_files?: Given<{ blocks: Texts; variables: Texts }> | null | undefined
  readonly agent_file_names?: readonly string[] | undefined
  readonly task_spec?: Fields | null | undefined
  readonly context?: Fields | null | undefined
  readonly run?: Fields | null | undefined
}

/** Completed from the settings, with the texts set apart. */
export function readWorkspaceConfig(
  config: CallerConfig,
  settings: Settings,
): { config: WorkspaceConfig; documents: Documents } {
  const git = config.git_config ?? {}
  return {
    config: {
      max_size_mb: config.max_size_mb ?? settings['workspaces.max_size_mb'],
      allowed_operations: operations(config.allowed_operations),
      git_config: {
        enabled: git.enabled ?? settings['git.enabled'],
        user_name: text('git_config.user_name', git.user_name ?? settings['git.user_name']),
        user_email: text('git_config.user_email', git.user_email ?? settings['git.user_email']),
      },
    },
    documents: {
      claude_md: config.claude_md === undefined ? undefined : text('claude_md', config.claude_md ?? ''),
      agent_files: config.agent_files === undefined ? undefined : agentFiles(config.agent_files ?? {}),
      agent_file_names: config.agent_file_names === undefined ? undefined : fileNames(config.agent_file_names),
      task_spec: config.task_spec === null ? {} : config.task_spec,
      context: config.context === null ? {} : config.context,
      run: config.run === null ? {} : config.run,
    },
  }
}

const allOperations = ['read', 'write', 'execute']

function operations(given: readonly string[] = allOperations): string[] {
  if (given.every((item) => allOperations.includes(item))) return [...new Set(given)]
  throw wrong('allowed_operations', `a list of ${allOperations.join(', ')}`)
}

const agentFiles = ({ blocks, variables }: NonNullable<CallerConfig['agent_files']>): AgentFiles => ({
  blocks: { ...blocks },
  variables: { ...variables },
})

function fileNames(names: readonly string[]): string[] {
  if (names.every((name) => /^[\w.-]{1,80}$/.test(name) && !/^\.+$/.test(name))) return [...names]
  throw wrong('agent_file_names', 'a list of plain names, as GEMINI.md')
}

function text(key: string, value: string): string {
  if (!value.includes('\0')) return value
  throw wrong(key, 'text without NUL characters')
}

const wrong = (key: string, expected: string): AwError =>
  new AwError('invalid_input', `config.${key} must be ${expected}`, { data: { field: `config.${key}` } })
