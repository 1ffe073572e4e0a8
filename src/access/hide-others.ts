import type { Outputs } from '../api/table.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import { isSnapshotId } from '../domain/ids.ts'
import type { Manager } from '../ports/manager.ts'
import { reaches, type Principal } from './principal.ts'
import { inputText } from './redact.ts'

const ids = /ws_[0-9a-z]{26}/g
const hidden = '(hidden)'

/** How a workspace is called beside its id: where one was forked from, what was forked from it. */
const namesOf = ['name', 'workspace', 'task', 'agent']

/** What its makers said of a snapshot, such as the beginning of a prompt, and where it stands among their others. */
const snapshotAuthorFields: Readonly<Record<string, unknown>> = {
  label: null,
  meta: {},
  key: null,
  parent: null,
  branch: hidden,
}

/** Fields that name workspaces without an id beside: whose snapshot it is, what began as it. */
const bareNameFields = ['workspace', 'forks']

/**
 * Takes what an answer tells of other workspaces out of it: ids that the principal does not reach, and the names beside
 * them. What the caller has named itself may stay.
 */
export function hideOtherWorkspaces(manager: Manager, principal: Principal, input: object) {
  const others = unreachableRefs(manager, principal, input)
  return async <T>(value: T): Promise<T> => {
    const found = await others(value)
    return found.length === 0 ? value : (replaceRefs(value, found) as T)
  }
}

/** The same for an error, whose sentences have the names, too. If that cannot be found out now, they say nothing. */
export async function hideOthersInError(
  manager: Manager,
  principal: Principal,
  input: object,
  error: AwError,
): Promise<AwError> {
  const { code, message, hint, data } = error
  const others = await unreachableRefs(manager, principal, input)({ message, hint, data }).catch(() => undefined)
  if (others === undefined) return new AwError(code, 'It did not work, and more cannot be told now')
  if (others.length === 0) return error
  const sentence = (text: string): string => others.reduce((told, other) => told.replaceAll(other, hidden), text)
  return new AwError(code, sentence(message), {
    ...(hint !== undefined && { hint: sentence(hint) }),
    data: replaceRefs(data, others) as typeof data,
  })
}

/** The ids and names in a value that the principal does not reach. Each is looked up once. */
function unreachableRefs(manager: Manager, principal: Principal, input: object) {
  const known = new Map<string, boolean>()
  let said: string | undefined
  const isOther = async (ref: string): Promise<boolean> => {
    said ??= inputText(input)
    if (said.includes(ref) || principal.workspaces?.includes(ref) === true) return false
    if (!ref.startsWith('ws_') && reaches(principal, { name: ref })) return false
    const view = await manager.call('show', { id: ref }).catch((error: unknown): Outputs['show'] | undefined => {
      if (toAwError(error).code === 'workspace_not_found') return undefined
      throw error
    })
    return view === undefined || !reaches(principal, { id: view.id, name: view.workspace_id })
  }

  return async (value: unknown): Promise<string[]> => {
    if (principal.workspaces === null) return []
    for (const { id, name } of describedWorkspaces(value)) {
      const isOther = !reaches(principal, { id, name })
      known.set(id, isOther).set(name, isOther)
    }
    for (const ref of collect(value, '', new Set())) if (!known.has(ref)) known.set(ref, await isOther(ref))
    return [...known].filter(([, other]) => other).map(([ref]) => ref)
  }
}

/** Workspaces that say themselves how they are called need not be looked up: those of a list, and those of events. */
function describedWorkspaces(value: unknown): { id: string; name: string }[] {
  if (Array.isArray(value)) return value.flatMap(describedWorkspaces)
  if (typeof value !== 'object' || value === null) return []
  const { id, workspace_id: name, stream, data } = value as Record<string, unknown>
  if (typeof id === 'string' && typeof name === 'string') return [{ id, name }]
  const { task_id: task, agent_id: agent } = (data ?? {}) as Record<string, unknown>
  if (typeof stream !== 'string' || typeof task !== 'string' || typeof agent !== 'string') return []
  return [{ id: stream, name: `${task}/${agent}` }]
}

/** Ids wherever they are, and names in their fields; what people keep with their things is theirs to call so. */
function collect(value: unknown, key: string, found: Set<string>): Set<string> {
  if (typeof value === 'string') {
    for (const id of value.match(ids) ?? []) found.add(id)
    if (bareNameFields.includes(key) && isName.test(value)) found.add(value)
  } else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    const isList = Array.isArray(value)
    for (const [name, inner] of Object.entries(value)) {
      if (!isList) collect(name, '', found)
      collect(inner, isList || userContentFields.includes(key) ? key : name, found)
    }
  }
  return found
}

/** Fields whose content people make up themselves. */
export const userContentFields = ['labels', 'meta', 'config', 'env', 'variables']
const isName = /^[\w.-]+\/[\w.-]+$/

function replaceRefs(value: unknown, others: readonly string[]): unknown {
  if (typeof value === 'string')
    return others.includes(value) ? hidden : value.replaceAll(ids, (id) => (others.includes(id) ? hidden : id))
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map((item) => replaceRefs(item, others))
  const isOfOther = Object.values(value).some((inner) => typeof inner === 'string' && others.includes(inner))
  const { id, workspace } = value as Record<string, unknown>
  const isTheirSnapshot = isOfOther && isSnapshotId(String(id)) && others.includes(String(workspace))
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (isTheirSnapshot && Object.hasOwn(snapshotAuthorFields, key)) return [key, snapshotAuthorFields[key]]
      const isName = isOfOther && namesOf.includes(key) && typeof inner === 'string'
      return [replaceRefs(key, others), isName ? hidden : replaceRefs(inner, others)]
    }),
  )
}
