import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Operation } from '../../api/operation.ts'
import { AwError } from '../../domain/errors.ts'
import { formatName, parseName } from '../../domain/names.ts'
import { commandSuggestions } from '../command.ts'
import type { Io } from '../io.ts'

type Input = Readonly<Record<string, unknown>>

/** What only the command line can say about a failure; undefined if it has nothing to add. */
export function explainError({ name }: Operation, input: Input, error: AwError, io: Io): AwError | undefined {
  if (error.code === 'aborted') return io.signal.aborted ? cancelled(name, input, error) : undefined
  const hint =
    otherCommandHint(name, input, error) ?? localFileHint(name, input, error, io.cwd) ?? runInExistingHint(name, error)
  return hint === undefined ? undefined : new AwError(error.code, error.message, { hint, data: error.data })
}

/** `aw snapshot list`: no workspace of that name, but perhaps a command was meant. */
function otherCommandHint(name: string, { id }: Input, { code }: AwError): string | undefined {
  const isWord = code === 'workspace_not_found' && typeof id === 'string'
  const meant = isWord ? commandSuggestions[`${name} ${id}`] : undefined
  return meant === undefined ? undefined : `Did you mean aw ${meant}?`
}

/** `aw cp with:colon x:work/`: taken for a workspace, but there is such a file. */
function localFileHint(name: string, { from }: Input, { code }: AwError, cwd: string): string | undefined {
  if (name !== 'cp' || typeof from !== 'string' || from.startsWith('/')) return undefined
  const isNoWorkspace = code === 'workspace_not_found' || code === 'invalid_name'
  return isNoWorkspace && existsSync(resolve(cwd, from)) ? `The file of this name here is ./${from}` : undefined
}

/** `aw run --repo . --id x` once more: most likely another run in it was meant. */
function runInExistingHint(name: string, { code, data }: AwError): string | undefined {
  if (name !== 'run' || code !== 'workspace_exists') return undefined
  return `To run in it, leave out what it begins as: aw run --id ${String(data['name'])}; for a new one, take another name`
}

/** Whatever part of the work it was that noticed. All of these fields are texts. */
const cancelledOutcomes: Readonly<Record<string, (input: Readonly<Record<string, string>>) => string>> = {
  create: ({ id }) => `${formatName(parseName(id))} was not made`,
  import: ({ id }) => `${id === undefined ? 'the workspace' : formatName(parseName(id))} was not made`,
  export: ({ file, bundle, branch }) =>
    branch === undefined ? `${file ?? bundle ?? 'all of it'} was not written` : `the branch ${branch} was not made`,
  start: ({ id }) => `no sandbox was started around ${id}`,
  cp: ({ to }) => `nothing was copied to ${to}`,
  fork: () => 'no fork was made',
  snapshot: ({ id }) => `no snapshot of ${id} was taken`,
  'template create': ({ name }) => `the template ${name} was not made`,
  'template update': ({ name }) => `the template ${name} has no new version`,
  'shared create': ({ name }) => `the shared area ${name} was not made`,
}

/** An error that tells what was made all the same stays as it is. */
function cancelled(name: string, input: Input, { data, cause }: AwError): AwError | undefined {
  if ('made' in data) return undefined
  const said = cancelledOutcomes[name]?.(input as Readonly<Record<string, string>>)
  return new AwError('aborted', said === undefined ? 'Cancelled' : `Cancelled; ${said}`, { data, cause })
}
