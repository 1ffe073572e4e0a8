import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Variable } from '../../ports/variables.ts'
import { ignoreGone, liveBoxes } from '../sandboxes/commands.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'

type Names = Outputs['env list']

export async function listEnv(core: Core, input: Inputs['env list']): Promise<Names> {
  const { id } = await findWorkspace(core, input.id)
  return namesOf(await core.variables.read(id))
}

export async function setEnv(core: Core, input: Inputs['env set'], request: Request): Promise<Names> {
  const given = givenBy(input)
  return change(core, input.id, request, given, [])
}

export const unsetEnv = (core: Core, input: Inputs['env unset'], request: Request): Promise<Names> =>
  change(core, input.id, request, {}, input.names)

/** The log tells the names first: a value that is used is never one that the log does not know of. */
async function change(
  core: Core,
  ref: string,
  request: Request,
  given: Readonly<Record<string, Variable>>,
  unset: readonly string[],
): Promise<Names> {
  const { id } = await findWorkspace(core, ref)
  return withWorkspace(core, request, id, async (workspace) => {
    assertAllowed(workspace, 'env')
    const all = { ...(await core.variables.read(id)), ...given }
    for (const name of unset) delete all[name]
    assertFew(all)
    const set = Object.entries(given).map(([name, { secret }]) => ({ name, secret }))
    const data = { ...nameFields(workspace), set, unset: [...unset] }
    await append(core, request, workspace, [newEvent(core, request, 'env_changed', data)])
    await core.variables.write(id, all)
    await takeAway(core, workspace, unset)
    return namesOf(all)
  })
}

/** A sandbox that runs has been given the files of secrets: the commands to come must not find them there. */
async function takeAway(core: Core, workspace: Workspace, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  for (const box of await liveBoxes(core, workspace)) {
    await using connected = box
    for (const name of names) await connected.take(name).catch(ignoreGone)
  }
}

function givenBy({ env = {}, secret, value }: Inputs['env set']): Record<string, Variable> {
  const given: Record<string, Variable> = {}
  for (const [name, text] of Object.entries(env)) given[checked(name)] = { value: text, secret: false }
  if ((secret === undefined) !== (value === undefined))
    throw new AwError('invalid_input', 'A secret has a name and a value', {
      hint: 'Give its name with --secret and its value on standard input',
      data: { field: secret === undefined ? 'secret' : 'value' },
    })
  if (value !== undefined && value.trim() === '')
    throw new AwError('invalid_input', 'The secret is empty', {
      hint: 'Give its value on standard input; to take one away: aw env unset',
      data: { field: 'value' },
    })
  // A file that was piped in ends with a line feed which is not meant.
  if (secret !== undefined) given[checked(secret)] = { value: (value ?? '').replace(/\r?\n$/, ''), secret: true }
  if (Object.keys(given).length > 0) return given
  throw new AwError('invalid_input', 'Which variable?', { hint: 'As in: aw env set ID CI=1' })
}

function checked(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) && !name.startsWith('AW_')) return name
  throw new AwError('invalid_input', `${JSON.stringify(name.slice(0, 80))} cannot be the name of a variable`, {
    hint: 'Letters, digits and _, not a digit first; names that begin with AW_ are taken',
    data: { field: 'env' },
  })
}

const maxBytes = 64 * 1024

function assertFew(all: Readonly<Record<string, Variable>>): void {
  const bytes = Object.entries(all).reduce((sum, [name, { value }]) => sum + name.length + Buffer.byteLength(value), 0)
  const withNul = Object.values(all).some(({ value }) => value.includes('\0'))
  if (bytes <= maxBytes && !withNul) return
  throw new AwError(
    'invalid_input',
    withNul ? 'A value holds a NUL byte' : `Variables of ${bytes} bytes are too much`,
    {
      hint: `All together may be ${maxBytes} bytes; longer texts belong into files`,
      data: { field: 'env', limit: maxBytes },
    },
  )
}

const namesOf = (all: Readonly<Record<string, Variable>>): Names =>
  Object.entries(all)
    .map(([name, { secret }]) => ({ name, secret }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
