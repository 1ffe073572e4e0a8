import type { Outputs } from '../api/table.ts'
import { toAwError } from '../domain/errors.ts'
import type { Manager } from '../ports/manager.ts'
import { reaches, type Principal } from './principal.ts'

const ids = /ws_[0-9a-z]{26}/g
const hidden = '(hidden)'

/** How a workspace is called beside its id: where one was forked from, what was forked from it. */
const namesOf = ['name', 'workspace', 'task', 'agent']

/**
 * Takes what an answer tells of other workspaces out of it: ids that the principal does not reach, and the names beside
 * them. What the caller has named itself may stay.
 */
export function othersHidden(manager: Manager, principal: Principal, input: object) {
  const known = new Map<string, boolean>()
  const said = JSON.stringify(input)
  const isOther = async (id: string): Promise<boolean> => {
    if (said.includes(id) || principal.workspaces?.includes(id) === true) return false
    const view = await manager.call('show', { id }).catch((error: unknown): Outputs['show'] | undefined => {
      if (toAwError(error).code === 'workspace_not_found') return undefined
      throw error
    })
    return view === undefined || !reaches(principal, { id, name: view.workspace_id })
  }

  return async <T>(value: T): Promise<T> => {
    if (principal.workspaces === null) return value
    for (const { id, name } of selves(value)) known.set(id, !reaches(principal, { id, name }))
    for (const id of idsIn(value)) if (!known.has(id)) known.set(id, await isOther(id))
    const others = [...known].filter(([, other]) => other).map(([id]) => id)
    return others.length === 0 ? value : (without(value, others) as T)
  }
}

/** Workspaces that say themselves how they are called need not be looked up: those of a list, and those of events. */
function selves(value: unknown): { id: string; name: string }[] {
  if (Array.isArray(value)) return value.flatMap(selves)
  if (typeof value !== 'object' || value === null) return []
  const { id, workspace_id: name, stream, data } = value as Record<string, unknown>
  if (typeof id === 'string' && typeof name === 'string') return [{ id, name }]
  const { task_id: task, agent_id: agent } = (data ?? {}) as Record<string, unknown>
  if (typeof stream !== 'string' || typeof task !== 'string' || typeof agent !== 'string') return []
  return [{ id: stream, name: `${task}/${agent}` }]
}

function idsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.match(ids) ?? []
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([key, inner]) => [...idsIn(key), ...idsIn(inner)])
}

function without(value: unknown, others: readonly string[]): unknown {
  if (typeof value === 'string') return value.replaceAll(ids, (id) => (others.includes(id) ? hidden : id))
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map((item) => without(item, others))
  const isOfOther = Object.values(value).some((inner) => typeof inner === 'string' && others.includes(inner))
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isName = isOfOther && namesOf.includes(key) && typeof inner === 'string'
      return [without(key, others), isName ? hidden : without(inner, others)]
    }),
  )
}
