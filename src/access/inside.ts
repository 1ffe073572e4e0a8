import type { Outputs } from '../api/table.ts'
import { mountOf, type Mounted, type MountWish } from '../domain/sandbox/mount.ts'
import type { Manager } from '../ports/manager.ts'
import { reaches, type Principal } from './principal.ts'

/** Where workspaces are to those inside, by their names and ids; of one that is not known or out of reach, nothing. */
export type Inside = ReadonlyMap<string, string>

type View = Outputs['show']

/** Tells where workspaces are inside. Those that an answer describes need not be looked up: a list is as quick as ever. */
export function insideOf(manager: Manager, principal: Principal, wish: MountWish) {
  const described = (views: readonly Described[]): Map<string, string> =>
    new Map(
      views
        .filter(({ id, workspace_id: name }) => reaches(principal, { id, name }))
        .flatMap((view) => [view.id, view.workspace_id].map((ref) => [ref, mountOf(wish, view)])),
    )
  return {
    described,
    /** @param refs names and ids of those whose paths are in the value */
    async found(value: unknown, refs: readonly string[], seen: readonly View[]): Promise<Inside> {
      const known = described([...seen, ...describedIn(value)])
      for (const ref of new Set(refs)) {
        if (known.has(ref)) continue
        const view = await manager.call('show', { id: ref }).catch(() => undefined)
        for (const [name, mount] of described(view === undefined ? [] : [view])) known.set(name, mount)
      }
      return known
    },
  }
}

interface Described extends Mounted {
  readonly workspace_id: string
}

function describedIn(value: unknown): Described[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  if (Array.isArray(value)) return value.flatMap(describedIn)
  return isDescribed(value) ? [value] : Object.values(value).flatMap(describedIn)
}

const isDescribed = (value: object): value is Described =>
  'id' in value && 'workspace_id' in value && 'profile' in value && 'sandbox' in value
