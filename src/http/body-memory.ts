import { Refusal } from './refusal.ts'

/** What one request holds in memory; given back when it is disposed of. */
export interface BodyMemory extends Disposable {
  /** Throws if that is more than may be held. */
  take(bytes: number): void
}

/** The bodies that are in memory, of all requests together. The user's own are counted, and never refused. */
export function bodyMemoryLimit(most: number): (isUsers: boolean) => BodyMemory {
  let all = 0
  return (isUsers) => {
    let own = 0
    return {
      take(bytes) {
        if (!isUsers && own + bytes > most) throw neverFits(most)
        if (!isUsers && all + bytes > most) throw full(most)
        all += bytes
        own += bytes
      },
      [Symbol.dispose]() {
        all -= own
        own = 0
      },
    }
  }
}

const bySetting = 'server.memory_mb of the daemon sets it; files/upload takes content of any size without holding it'

const full = (most: number): Refusal =>
  new Refusal(
    503,
    'rate_limited',
    `The daemon is already holding as much as it may of requests that are under way (${most} bytes)`,
    `Try again in 1 s. ${bySetting}`,
    { 'Retry-After': '1' },
  )

const neverFits = (most: number): Refusal =>
  new Refusal(413, 'invalid_input', `The body is larger than all that the daemon may hold (${most} bytes)`, bySetting)
