import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { parsePath, quotePath } from '../../domain/paths.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import type { Limits } from '../../domain/sandbox/spec.ts'
import { workspaceVariables } from '../../domain/sandbox/variables.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Sandbox } from '../../ports/sandbox-driver.ts'
import type { Variable } from '../../ports/variables.ts'
import { agentVariables } from '../agents/equipment.ts'
import { withoutZero } from './plan.ts'
import type { BoxInside } from './bridge.ts'
import type { Core, Request } from '../core.ts'
import type { StartedCommand } from './exec-one.ts'
import { portBlocks } from '../workspaces/slots.ts'

type CommandOptions = Pick<
  Inputs['exec'],
  'argv' | 'cwd' | 'env' | 'timeout_ms' | 'output_mb' | 'open_files' | 'file_size_mb' | 'columns' | 'rows'
>

/** A command as the sandbox is to run it: what the workspace gives to all of them, and its own. */
export async function commandOf(
  core: Core,
  input: CommandOptions,
  request: Request,
  started: Pick<StartedCommand, 'workspace' | 'variables' | 'box'>,
  box: Sandbox,
) {
  const { workspace, variables, box: facts } = started
  return {
    argv: input.argv,
    cwd: directoryOf(workspace, facts, input.cwd),
    env: {
      ...workspaceVariables(workspace, workspace.slot, portBlocks(core)),
      ...(await agentVariables(core, facts, box)),
      ...(await givenVariables(variables, box)),
      ...input.env,
    },
    limits: limitsOf(core, input),
    terminal: input.columns === undefined ? undefined : { columns: input.columns, rows: input.rows ?? 24 },
    input: request.input,
  }
}

/** A secret is a file that the command is told the path of, as NAME_FILE. */
async function givenVariables(
  variables: Readonly<Record<string, Variable>>,
  box: Sandbox,
): Promise<Record<string, string>> {
  const given: Record<string, string> = {}
  for (const [name, { value, secret }] of Object.entries(variables)) {
    if (secret) given[`${name}_FILE`] = await box.put(name, Buffer.from(value), 0o400)
    else given[name] = value
  }
  return given
}

/** Of a sandbox of its own the limits are those of the sandbox; in one that runs, a command may have narrower ones. */
function limitsOf({ config: { settings } }: Core, input: CommandOptions): Limits {
  const wanted = {
    wall_ms: input.timeout_ms ?? settings['sandbox.timeout_ms'],
    output_mb: input.output_mb ?? settings['sandbox.output_mb'],
    open_files: input.open_files ?? 0,
    file_size_mb: input.file_size_mb ?? 0,
  }
  return withoutZero(wanted)
}

/** Counted from where the content is; `..` leads to what is beside it, and not out of the workspace. */
export function directoryOf({ profile, path }: Workspace, { mount }: Pick<BoxInside, 'mount'>, cwd = '.'): string {
  const isAbsolute = cwd.startsWith('/')
  const given = isAbsolute ? cwd : `${profileOf(profile).content}/${cwd}`
  const steps: string[] = []
  for (const name of parsePath(given, { absolute: 'inside', roots: [mount, path] }).names) {
    if (name !== '..') steps.push(name)
    else if (steps.pop() === undefined)
      throw new AwError('path_traversal_attempt', `${quotePath(cwd)} leads out of the workspace`, {
        hint: 'Commands start below the workspace',
        data: { field: 'cwd' },
      })
  }
  return steps.join('/') || '.'
}
