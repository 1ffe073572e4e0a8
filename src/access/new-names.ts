import type { Operation } from '../api/operation.ts'
import type { Outputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { formatName, parseName } from '../domain/names.ts'
import { reaches, type Principal } from './principal.ts'

/** They bring back or move what is there; where to is a name like any. */
const withoutNewWorkspace = ['undelete', 'rename']

/**
 * Whoever is held to workspaces makes none that they would not reach. So they say what it is to be called; and where
 * names are numbered, all numbers have to be theirs, as nobody knows which is free.
 */
export function assertNewNameReachable(
  principal: Principal,
  { name, names = {} }: Operation,
  input: Record<string, unknown>,
  view: Outputs['show'] | undefined,
): void {
  const field = Object.keys(names).find((one) => names[one] === 'new')
  if (field === undefined || withoutNewWorkspace.includes(name)) return
  const given = input[field] ?? (name === 'fork' ? view?.workspace_id : undefined)
  if (given === undefined)
    throw new AwError('permission_denied', `This token is for certain workspaces: ${name} has to name what it makes`, {
      data: { field },
    })
  if (input['count'] === undefined && input[field] !== undefined) return
  for (const stem of [given].flat().map(String)) {
    const all = formatName(parseName(`${stem}-0`)).replace(/-0(?=$|\/main$)/, '-*')
    if (reaches(principal, { name: all })) continue
    throw new AwError('permission_denied', `This token may not make workspaces with the names ${all}`, {
      data: { workspace: stem },
    })
  }
}
