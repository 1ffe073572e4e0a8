import type { Outputs, Table } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { CallContext, Manager } from '../../ports/manager.ts'
import { connectOptions } from '../connect.ts'
import type { Globals } from '../input/globals.ts'
import type { Io } from '../io.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { zshScript } from './zsh.ts'

const shells: Readonly<Record<string, (table: Table) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** `aw completion bash` */
export async function completionCommand(args: readonly string[], _globals: Globals, io: Io): Promise<number> {
  const [shell] = args
  const script = shell === undefined || args.length > 1 ? undefined : shells[shell]
  if (script === undefined) throw unknownShell(shell)
  await io.stdout.write(script(io.table))
  return 0
}

/** What the scripts call for names. A shell that waits for the Tab key has no use for an error. */
export async function namesCommand(args: readonly string[], globals: Globals, io: Io): Promise<number> {
  try {
    await using manager = await io.connect(connectOptions(globals, io))
    const names = await namesOf(manager, args[0] ?? 'live', args[1] ?? '', { signal: io.signal })
    if (names.length > 0) await io.stdout.write(`${[...new Set(names)].join('\n')}\n`)
  } catch {
    return 0
  }
  return 0
}

async function namesOf(manager: Manager, what: string, id: string, context: CallContext): Promise<string[]> {
  if (what === 'branches') return (await manager.call('branch', { id }, context)).branches.map(({ name }) => name)
  if (what === 'snapshots') return snapshotNames(await manager.call('snapshots', { id }, context))
  if (what === 'env') return (await manager.call('env list', { id }, context)).map(({ name }) => name)
  const named = namedThings[what]
  if (named !== undefined) return named(manager, context)
  const found = await manager.call('list', what === 'trashed' ? { trashed: true } : {}, context)
  return found.map((workspace) => (what === 'tasks' ? workspace.task : workspace.workspace_id))
}

/** Things that are no workspace's. */
const namedThings: Readonly<Record<string, (manager: Manager, context: CallContext) => Promise<string[]>>> = {
  templates: async (manager, context) => (await manager.call('template list', {}, context)).map(({ name }) => name),
  bases: async (manager, context) => (await manager.call('bases list', {}, context)).map(({ name }) => name),
  agents: async (manager, context) => (await manager.call('agents list', {}, context)).map(({ name }) => name),
  shared: async (manager, context) => (await manager.call('shared list', {}, context)).map(({ name }) => name),
  'shared-trashed': async (manager, context) =>
    (await manager.call('shared list', { trashed: true }, context)).map(({ trash, name }) => trash ?? name),
}

/** The newest first; labels too, unless the shell would take them for several words. */
const snapshotNames = (snapshots: Outputs['snapshots']): string[] =>
  snapshots.toReversed().flatMap(({ id, label }) => (label === null || /[\s'"\\$`]/.test(label) ? [id] : [label, id]))

function unknownShell(shell: string | undefined): AwError {
  const known = Object.keys(shells)
  const close = shell === undefined ? undefined : nearest(shell, known)
  const message =
    shell === undefined ? 'aw completion needs a shell' : `There is no completion for ${JSON.stringify(shell)}`
  return new AwError('invalid_input', message, {
    hint: close === undefined ? `One of ${known.join(', ')}` : `Did you mean aw completion ${close}?`,
    data: { known },
  })
}
