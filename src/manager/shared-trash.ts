import type { Core } from './core.ts'

interface TrashedShared {
  readonly name: string
  readonly trash: string
  readonly at: string
}

/** What removed shared areas held, and nobody has erased yet; oldest first. */
export async function trashedShared(core: Core): Promise<TrashedShared[]> {
  const found = new Map<string, TrashedShared>()
  for await (const event of core.store.read('home', { types: ['shared_removed', 'shared_purged'] })) {
    if (event.type === 'shared_removed') found.set(event.data.trash, { ...event.data, at: event.at })
    if (event.type === 'shared_purged') found.delete(event.data.trash)
  }
  return [...found.values()]
}
