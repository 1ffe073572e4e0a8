import { endTimes, stateOf, type KnownToken, type TokenState } from '../../domain/tokens/tokens.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EventStore } from '../../ports/event-store.ts'

export interface TokenClock {
  /** The latest that it has been in this home, in milliseconds: a clock that is set back changes nothing. */
  now(): Promise<number>
  /** What a token is now. That its time is over is noted durably before anybody is told, so that it stays so. */
  stateOf(token: KnownToken): Promise<TokenState>
}

export function tokenClock(store: EventStore, clock: Clock): TokenClock {
  let latest = 0
  const now = async (): Promise<number> => {
    latest = Math.max(latest, clock.now().getTime(), Date.parse(await store.latest()) || 0)
    return latest
  }
  return {
    now,
    async stateOf(token) {
      const times = endTimes(token)
      if (times.length === 0) return stateOf(token, 0)
      const time = await now()
      const passed = times.filter((one) => one <= time)
      // If it cannot be written down, it is over all the same; whoever sees it next tries again.
      if (passed.length > 0) await store.passed(new Date(Math.min(...passed)).toISOString()).catch(() => undefined)
      return stateOf(token, time)
    },
  }
}
