import type { Table } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import type { Globals } from './globals.ts'
import type { Io } from './io.ts'
import { bashScript } from './completion/bash.ts'
import { fishScript } from './completion/fish.ts'
import { zshScript } from './completion/zsh.ts'

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
  const { home, configFile, set } = globals
  const place = { ...(home === undefined ? {} : { home }), ...(configFile === undefined ? {} : { configFile }) }
  try {
    await using manager = await io.connect({ ...place, set, env: io.env, cwd: io.cwd })
    const found = await manager.call('list', args[0] === 'trashed' ? { trashed: true } : {}, { signal: io.signal })
    const names = found.map((workspace) => (args[0] === 'tasks' ? workspace.task : workspace.workspace_id))
    if (names.length > 0) await io.stdout.write(`${[...new Set(names)].join('\n')}\n`)
  } catch {
    return 0
  }
  return 0
}

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
