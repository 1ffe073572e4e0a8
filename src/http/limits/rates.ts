import type { Operation } from '../../api/operation.ts'
import type { Manager } from '../../ports/manager.ts'
import { Refusal } from '../refusal.ts'

/** How many requests a minute, by what they do; 0 is no limit. */
export interface Rates {
  readonly create: number
  readonly exec: number
  readonly default: number
}

type Class = keyof Rates

const classes: Readonly<Record<string, Class>> = {
  create: 'create',
  ensure: 'create',
  fork: 'create',
  import: 'create',
  run: 'create',
  exec: 'exec',
}

export type RateLimiter = ReturnType<typeof rateLimiter>

/**
 * A bucket for each caller and class: full at first, and filled again evenly over a minute. By the monotonic clock, so
 * that a clock that is set changes nothing.
 */
export function rateLimiter(rates: Rates, now: () => number = () => performance.now()) {
  const buckets = new Map<string, { left: number; at: number }>()
  return {
    take(caller: string, operation: Pick<Operation, 'name'> | undefined): void {
      const kind = classes[operation?.name ?? ''] ?? 'default'
      const perMinute = rates[kind]
      if (perMinute === 0) return
      const key = `${kind} ${caller}`
      const time = now()
      const bucket = buckets.get(key) ?? { left: perMinute, at: time }
      const left = Math.min(perMinute, bucket.left + ((time - bucket.at) * perMinute) / 60_000)
      if (left < 1) {
        const wait = Math.ceil(((1 - left) * 60) / perMinute)
        throw new Refusal(
          429,
          'rate_limited',
          `This token may do ${perMinute} of these requests a minute (${kind})`,
          `Try again in ${wait} s; rate_limit.${kind}_per_minute of the daemon sets it`,
          { 'Retry-After': String(wait) },
        )
      }
      buckets.set(key, { left: left - 1, at: time })
      if (buckets.size > 10_000) forgetFull(buckets, time)
    },
  }
}

function forgetFull(buckets: Map<string, { left: number; at: number }>, time: number): void {
  for (const [key, { at }] of buckets) if (time - at > 60_000) buckets.delete(key)
}

/** A manager whose caller has been counted for the request already: what has a limit of its own counts there, too. */
export function rateLimited(manager: Manager, rates: RateLimiter, caller: string): Manager {
  const take = (name: string): void => {
    if (Object.hasOwn(classes, name)) rates.take(caller, { name })
  }
  return {
    async call(name, input, context) {
      take(name)
      return manager.call(name, input, context)
    },
    async *stream(name, input, context) {
      take(name)
      yield* manager.stream(name, input, context)
    },
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
}
