import type { Outputs } from '../api/table.ts'
import { mountOf, type MountedWorkspace, type MountSetting } from '../domain/sandbox/mount.ts'
import type { Manager } from '../ports/manager.ts'
import { userContentFields } from './hide-others.ts'
import { reaches, type Principal } from './principal.ts'

/** Where workspaces are to those inside, by their names and ids; of one that is not known or out of reach, nothing. */
export type MountPaths = ReadonlyMap<string, string>

type View = Outputs['show']

/**
 * Tells where workspaces are inside. Those that an answer describes need not be looked up: a list is as quick as ever. What
 * was really looked at counts for more.
 */
export function mountLookup(manager: Manager, principal: Principal, setting: MountSetting) {
  const described = (views: readonly Described[]): Map<string, string> =>
    new Map(
      views
        .filter(({ id, workspace_id: name }) => reaches(principal, { id, name }))
        .flatMap((view) => [view.id, view.workspace_id].map((ref) => [ref, mountOf(setting, view)])),
    )
  return {
    described,
    /** For the items of one answer: each workspace is looked up once. @param seen those that were looked at for it */
    finder(seen: readonly View[]) {
      const looked = new Map<string, Promise<MountPaths>>()
      const look = async (ref: string): Promise<MountPaths> => {
        const view = await manager.call('show', { id: ref }).catch(() => undefined)
        return described(view === undefined ? [] : [view])
      }
      /** @param refs names and ids of those whose paths are in the value */
      return async (value: unknown, refs: readonly string[]): Promise<MountPaths> => {
        const known = new Map([...described(describedIn(value)), ...described(seen)])
        for (const ref of new Set(refs)) {
          if (known.has(ref)) continue
          const found = looked.get(ref) ?? look(ref)
          looked.set(ref, found)
          for (const [name, mount] of await found) known.set(name, mount)
        }
        return known
      }
    },
  }
}

interface Described extends MountedWorkspace {
  readonly workspace_id: string
}

function describedIn(value: unknown): Described[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  if (Array.isArray(value)) return value.flatMap(describedIn)
  if (isDescribed(value)) return [value]
  return Object.entries(value).flatMap(([field, inner]) =>
    userContentFields.includes(field) ? [] : describedIn(inner),
  )
}

/** What only looks like one, as somebody may have called their files so, is none. */
function isDescribed(value: object): value is Described {
  const { id, workspace_id: name, profile, sandbox } = value as Record<string, unknown>
  if (typeof id !== 'string' || typeof name !== 'string' || typeof profile !== 'string') return false
  return isId.test(id) && (sandbox === null || isMounted(sandbox))
}

const isId = /^ws_[0-9a-z]{26}$/

const isMounted = (sandbox: unknown): boolean =>
  typeof sandbox === 'object' && sandbox !== null && 'mount' in sandbox && String(sandbox.mount).startsWith('/')
