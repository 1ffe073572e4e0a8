import { isWorkspaceId } from '../../domain/ids.ts'
import { hashOf, isSecret } from '../../domain/tokens/tokens.ts'
import { isLive } from '../../domain/workspace/state.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EventStore } from '../../ports/event-store.ts'
import type { Tokens } from '../../ports/tokens.ts'
import { isSandboxOf } from '../sandboxes/bridge.ts'
import { tokenCache } from './token-cache.ts'
import { tokenClock } from './token-clock.ts'

interface FinderParts {
  readonly store: EventStore
  readonly clock: Clock
  /** Takes the same time whatever differs. */
  readonly isSame: (one: Uint8Array, other: Uint8Array) => boolean
}

export function tokenFinder({ store, clock, isSame }: FinderParts): Tokens {
  const book = tokenCache(store)
  const time = tokenClock(store, clock)

  const isThere = async (pattern: string, sandbox: string | undefined): Promise<boolean> => {
    if (!isWorkspaceId(pattern)) return true
    const workspace = await store.get(pattern)
    if (workspace === undefined || !isLive(workspace.state)) return false
    return sandbox === undefined || isSandboxOf(workspace, sandbox)
  }

  return {
    async find(secret) {
      if (!isSecret(secret)) return undefined
      const hash = hashOf(secret)
      const known = await book.byHash(hash)
      if (known === undefined || !isSame(Buffer.from(known.hash, 'hex'), Buffer.from(hash, 'hex'))) return undefined
      if ((await time.stateOf(known)) !== 'active') return undefined
      const { id, label, scopes, created_at, expires_at, sandbox } = known
      // Whoever destroys a workspace, or ends a sandbox, may die before the log has it that its tokens are revoked.
      const workspaces = known.workspaces && (await filtered(known.workspaces, (one) => isThere(one, sandbox)))
      if (workspaces?.length === 0) return undefined
      return { id, label, scopes, workspaces, created_at, expires_at, ...(sandbox && { sandbox }) }
    },
  }
}

async function filtered<T>(items: readonly T[], keep: (item: T) => Promise<boolean>): Promise<T[]> {
  const kept = await Promise.all(items.map(keep))
  return items.filter((_, index) => kept[index])
}
