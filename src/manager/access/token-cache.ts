import type { AnyEvent } from '../../domain/log/event.ts'
import type { TokenId } from '../../domain/ids.ts'
import { foldTokens, tokenEventTypes, type KnownToken } from '../../domain/tokens/tokens.ts'
import type { EventStore } from '../../ports/event-store.ts'

export interface TokenCache {
  /** Every token that ever was, as the log has it now. */
  all(): Promise<ReadonlyMap<TokenId, KnownToken>>
  /** The one with this hash. */
  byHash(hash: string): Promise<KnownToken | undefined>
}

interface Page {
  readonly version: number
  readonly tokens: ReadonlyMap<TokenId, KnownToken>
  readonly hashes: ReadonlyMap<string, KnownToken>
}

/** Keeps what it has read, and reads on when the home's stream has grown. */
export function tokenCache(store: EventStore): TokenCache {
  let page: Page = { version: 0, tokens: new Map(), hashes: new Map() }

  async function current(): Promise<Page> {
    const version = await store.version('home')
    if (version === page.version) return page
    const { version: after, tokens: before } = page
    const events: AnyEvent[] = []
    for await (const event of store.read('home', { after, types: tokenEventTypes })) events.push(event)
    const tokens = events.length === 0 ? before : foldTokens(before, events)
    const hashes = new Map([...tokens.values()].map((token) => [token.hash, token]))
    const read = { version, tokens, hashes }
    // Several may read at once; what was read last is not forgotten for what was read before.
    if (read.version > page.version) page = read
    return read
  }

  return {
    all: async () => (await current()).tokens,
    byHash: async (hash) => (await current()).hashes.get(hash),
  }
}
