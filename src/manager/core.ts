import type { Config } from '../domain/config/config.ts'
import type { EventData, EventMeta, EventType, NewEvent } from '../domain/log/event.ts'
import { makeId, type OperationId, type Prefix, type WorkspaceId } from '../domain/ids.ts'
import type { Workspace } from '../domain/workspace/state.ts'
import type { Agents } from '../ports/agents.ts'
import type { BridgeLocation } from '../ports/bridge.ts'
import type { Clock } from '../ports/clock.ts'
import type { EventStore } from '../ports/event-store.ts'
import type { Files } from '../ports/files.ts'
import type { GitResults } from '../ports/git-results.ts'
import type { Host } from '../ports/host.ts'
import type { Archives } from '../ports/archives.ts'
import type { CallContext } from '../ports/manager.ts'
import type { Repositories } from '../ports/repositories.ts'
import type { ArchiveStore } from '../ports/archive-store.ts'
import type { SizeCache } from '../ports/size-cache.ts'
import type { StorageDriver } from '../ports/storage-driver.ts'
import type { Isolation } from '../domain/sandbox/spec.ts'
import type { Follower, SandboxDriver } from '../ports/sandbox-driver.ts'
import type { Texts } from '../ports/texts.ts'
import type { Requests } from '../ports/requests.ts'
import type { KeptLogs } from '../ports/kept-logs.ts'
import type { Variables } from '../ports/variables.ts'
import type { TokenCache } from './access/token-cache.ts'
import type { TokenClock } from './access/token-clock.ts'

/** Everything a use case may use. Assembled once, in `aw.ts`. */
export interface Core {
  readonly store: EventStore
  readonly storage: StorageDriver
  readonly files: Files
  readonly host: Host
  readonly texts: Texts
  readonly sizes: SizeCache
  readonly repositories: Repositories
  readonly results: GitResults
  readonly archives: Archives
  readonly archiveStore: ArchiveStore
  readonly variables: Variables
  readonly requests: Requests
  readonly agents: Agents
  readonly bridge: BridgeLocation
  readonly logs: KeptLogs
  /** What is started when the last run of a workspace has ended and nobody is there to write it down. */
  readonly follower: (workspace: WorkspaceId) => Follower | undefined
  /** The driver of a level, loaded when it is first asked for. */
  readonly sandboxes: (isolation: Isolation) => Promise<SandboxDriver>
  readonly clock: Clock
  readonly config: Config
  /** Where workspaces are found: absolute, without a slash at the end. */
  readonly basePath: string
  readonly home: string
  /** Who asks when a call does not say. */
  readonly actor: string
  readonly configFile: string | undefined
  readonly tokens: TokenCache
  readonly tokenTime: TokenClock
  /** Brings a dead owner's operation to an end; see `recover-operation.ts`. */
  readonly recover: Recovery
  /** What the machine and the drivers can do, tried for real. */
  readonly inspect: () => Promise<Finding[]>
}

export type Recovery = (
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
) => Promise<{ workspace: Workspace; outcome: string }>

export interface Finding {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'problem' | 'info'
  readonly message: string
  readonly hint: string | null
}

/** A request, with what the caller left out filled in. */
export interface Request extends CallContext {
  readonly actor: string
  readonly correlationId: string
}

/** For what goes on after the lease was asked for once, or is none of the lease's business. */
export const withoutLease = (request: Request): Request => ({
  ...request,
  correlationId: request.correlationId,
  lease: undefined,
})

/** For what is to be written down though whoever asked has gone, or has lost the lease meanwhile. */
export const uncancellable = (request: Request): Request => ({ ...withoutLease(request), signal: undefined })

export const newId = <P extends Prefix>(core: Core, prefix: P): `${P}_${string}` =>
  makeId(prefix, core.clock.now().getTime(), core.clock.random(10))

export interface OperationRef {
  readonly id: OperationId
  readonly epoch: number
}

export function newEvent<T extends EventType>(
  core: Core,
  request: Request,
  type: T,
  data: EventData[T],
  operation: OperationRef | null = null,
): NewEvent<T> {
  const meta: EventMeta = {
    actor: request.actor,
    correlation_id: request.correlationId,
    causation_id: request.causationId ?? null,
    operation: operation === null ? null : { id: operation.id, epoch: operation.epoch },
  }
  return { id: newId(core, 'ev'), at: core.clock.now().toISOString(), type, data, meta }
}
