import type { IncomingMessage } from 'node:http'
import { limited, type HomeFacts } from '../access/limited.ts'
import { assertScope, type Principal } from '../access/principal.ts'
import type { Operation } from '../api/operation.ts'
import type { Scope } from '../domain/tokens/scopes.ts'
import type { Manager } from '../ports/manager.ts'
import { callerOf, type Authenticate, type Caller, type ListenerInfo } from './authenticate.ts'
import { contextOf, type RequestContext } from './context.ts'
import { assertHostAndOrigin } from './guard.ts'
import { bodyMemoryLimit, type BodyMemory } from './body-memory.ts'
import { flights, type Flight, type FlightLimits } from './limits/in-flight.ts'
import { rateLimiter, type Rates } from './limits/rates.ts'
import { recheckToken, type RecheckOptions } from './recheck.ts'
import { Refusal } from './refusal.ts'
import { targetOf, type Target } from './routes/routes.ts'
import type { Trace } from './trace.ts'

export interface AdmissionLimits extends FlightLimits {
  readonly rates: Rates
  /** Of bodies in memory, all requests together. */
  readonly heldBytes: number
}

export type Ready = () => { readonly ready: boolean; readonly reason?: string }

interface Options {
  readonly manager: Manager
  readonly facts: HomeFacts
  readonly authenticate: Authenticate
  readonly limits: AdmissionLimits
  readonly ready: Ready
}

/** A request as it came in. */
export interface Arrival {
  readonly request: IncomingMessage
  readonly entrance: ListenerInfo
  readonly trace: Trace
}

/** What a request asks for, as far as its admission is concerned. */
export interface Wanted {
  /** In the log and the metrics. */
  readonly name: string
  /** What a refusal calls it. */
  readonly title: string
  readonly scope: Scope | undefined
  /** Its rate limit; that of requests in general without one. */
  readonly operation?: Operation
  /** What it counts as among the requests that a token has open at once; not at all without it. */
  readonly holds: keyof FlightLimits | undefined
  /** Checked once the scope allows it. */
  readonly check?: () => void
}

export interface RouteLookup<W extends Wanted> {
  /** Where it is known before anybody has looked. */
  readonly name?: string
  /** Refused while the daemon takes no requests. */
  readonly needsReady: boolean
  readonly find: (principal: Principal) => W
}

/** A request that passed every check. It counts as open until it is disposed of. */
export interface Admitted<W extends Wanted> extends Disposable {
  readonly wanted: W
  readonly caller: Caller
  /** Whose limits it counts towards; undefined for the user of the home, who has none. */
  readonly counted: string | undefined
  /** With the rights of the caller. */
  readonly manager: Manager
  readonly held: BodyMemory
  /** Who asks and why; refused if a header is malformed. */
  readonly context: () => RequestContext
  /** Counts one more towards the rate limit. */
  readonly countOne: () => void
  /** From here on it can be cancelled by its id, and ends with its token unless `recheck` is false. */
  readonly begin: (id: string, flight: Flight, recheck?: RecheckOptions | false) => Disposable
}

/**
 * The checks that every request passes, in this order: who it is meant for and which page it comes from, the token,
 * whether the daemon is ready, the scope, the rate, how many are open.
 */
export function admission({ manager, facts, authenticate, limits, ready }: Options) {
  const rates = rateLimiter(limits.rates)
  const flying = flights(limits)
  const holding = bodyMemoryLimit(limits.heldBytes)
  const recheck = recheckToken(authenticate)

  async function admit<W extends Wanted>(arrival: Arrival, lookup: RouteLookup<W>): Promise<Admitted<W>> {
    const { request, entrance, trace } = arrival
    const caller = await callerOf(request, entrance, authenticate)
    const { principal, secret } = caller
    trace.actor = principal.actor
    trace.operation = lookup.name ?? trace.operation
    if (lookup.needsReady) assertReady(ready)
    const wanted = lookup.find(principal)
    trace.operation = wanted.name
    if (wanted.scope !== undefined) assertScope(principal, wanted.scope, wanted.title)
    wanted.check?.()
    const counted = secret === undefined ? undefined : principal.actor
    const count = (operation?: Operation): void => {
      if (counted !== undefined) rates.take(counted, operation)
    }
    count(wanted.operation)
    const own = limited(manager, principal, facts)
    const entered = flying.enter(wanted.holds && counted, wanted.holds ?? 'inFlight')
    const held = holding(counted === undefined)
    return {
      wanted,
      caller,
      counted,
      manager: own,
      held,
      context: () => contextOf(request, principal, trace.correlationId),
      countOne: () => count(),
      begin(id, flight, rechecked = {}) {
        const tracked = flying.track(principal.actor, id, flight)
        const checked = rechecked === false ? undefined : recheck(caller, flight.stop, rechecked)
        return {
          [Symbol.dispose]() {
            checked?.[Symbol.dispose]()
            tracked[Symbol.dispose]()
          },
        }
      },
      [Symbol.dispose]() {
        held[Symbol.dispose]()
        entered[Symbol.dispose]()
      },
    }
  }

  return { admit, rates, flying }
}

/** What a request is about, if it is meant for this entrance. */
export function addressOf(request: IncomingMessage, { hosts, only }: ListenerInfo): Target {
  assertHostAndOrigin(request, hosts)
  const target = targetOf(request.url ?? '/')
  if (only !== undefined && target.path !== only)
    throw new Refusal(404, 'invalid_input', 'There is nothing at this address')
  return target
}

function assertReady(ready: Ready): void {
  const { ready: isReady, reason = 'The daemon is ending' } = ready()
  if (!isReady) throw new Refusal(503, 'daemon_unavailable', reason, undefined, { 'Retry-After': '1' })
}
