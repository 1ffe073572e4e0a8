import { Refusal } from '../refusal.ts'

export interface FlightLimits {
  /** Requests of one token at once, streams not counted. */
  readonly inFlight: number
  readonly streams: number
}

/** A request that is being answered, and how it is brought to an end. */
export interface Flight {
  /** Cancels what was asked for. */
  readonly stop: AbortController
  /** It would not come to an end by itself: it follows what others do. */
  readonly follows?: boolean | undefined
  /** Of what goes on without whoever asked for it: lets go of it instead. */
  readonly leave?: AbortController | undefined
}

/** Requests that are being answered: counted for each token, found by their id so that a caller can stop one. */
export function flights(limits: FlightLimits) {
  const counts = new Map<string, number>()
  const flying = new Map<string, Flight>()

  function enter(caller: string | undefined, kind: keyof FlightLimits): Disposable {
    if (caller === undefined) return { [Symbol.dispose]: () => undefined }
    const key = `${kind} ${caller}`
    const count = counts.get(key) ?? 0
    const most = limits[kind]
    if (most > 0 && count >= most) {
      const what = kind === 'streams' ? 'streams' : 'requests'
      throw new Refusal(429, 'rate_limited', `This token has ${most} ${what} open already`, 'End one of them first', {
        'Retry-After': '1',
      })
    }
    counts.set(key, count + 1)
    return {
      [Symbol.dispose]() {
        const left = (counts.get(key) ?? 1) - 1
        if (left === 0) counts.delete(key)
        else counts.set(key, left)
      },
    }
  }

  /** Under the caller's name: nobody stops another's. */
  function track(caller: string, id: string, flight: Flight): Disposable {
    const key = `${caller} ${id}`
    if (flying.has(key)) throw new Refusal(409, 'invalid_input', 'There is a request with that id already')
    flying.set(key, flight)
    return { [Symbol.dispose]: () => void flying.delete(key) }
  }

  const abort = (caller: string, id: string, reason: Error): boolean => {
    const found = flying.get(`${caller} ${id}`)
    found?.stop.abort(reason)
    return found !== undefined
  }

  /** Ends those that only follow, or all: what goes on by itself is left to itself, everything else is cancelled. */
  const end = (reason: Error, which: 'followers' | 'all'): void => {
    for (const { stop, leave = stop, follows = false } of flying.values())
      if (which === 'all' || follows) leave.abort(reason)
  }

  return { enter, track, abort, end }
}
