import { Refusal } from './refusal.ts'

export interface FlightLimits {
  /** Requests of one token at once, streams not counted. */
  readonly inFlight: number
  readonly streams: number
}

/** Requests that are being answered: counted for each token, found by their id so that a caller can stop one. */
export function flights(limits: FlightLimits) {
  const counts = new Map<string, number>()
  const stops = new Map<string, { readonly stop: AbortController; readonly kind: keyof FlightLimits }>()

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
  function track(caller: string, id: string, stop: AbortController, kind: keyof FlightLimits): Disposable {
    const key = `${caller} ${id}`
    if (stops.has(key)) throw new Refusal(409, 'invalid_input', 'There is a request with that id already')
    stops.set(key, { stop, kind })
    return { [Symbol.dispose]: () => void stops.delete(key) }
  }

  const abort = (caller: string, id: string, reason: Error): boolean => {
    const found = stops.get(`${caller} ${id}`)
    found?.stop.abort(reason)
    return found !== undefined
  }

  /** Stops all that are under way, or only streams: they would not come to an end by themselves. */
  const abortAll = (reason: Error, only?: keyof FlightLimits): void => {
    for (const { stop, kind } of stops.values()) if (only === undefined || kind === only) stop.abort(reason)
  }

  return { enter, track, abort, abortAll }
}
