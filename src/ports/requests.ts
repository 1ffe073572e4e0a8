import type { WorkspaceId } from '../domain/ids.ts'

/** A request that a sandbox made through its proxy. Nothing of what was sent is in it. */
export interface NetworkRequest {
  /** When it began (ISO 8601). */
  readonly time: string
  readonly method: string | null
  readonly host: string | null
  readonly port: number | null
  /** `failed`: it was allowed, and something else was in the way. */
  readonly verdict: 'allowed' | 'refused' | 'failed'
  /** Why it was refused or failed; `open` if it is not over, or nobody saw its end. */
  readonly reason: string | null
  /** Bytes to the host and from it. */
  readonly up: number
  readonly down: number
  readonly ms: number
}

/** Keeps what the sandboxes of workspaces asked of the network, outside their reach, for as long as the workspace. */
export interface Requests {
  /** The file that the proxy of a sandbox appends to. */
  place(workspace: WorkspaceId): string
  /** The last so many, oldest first. */
  read(workspace: WorkspaceId, limit: number): Promise<NetworkRequest[]>
  /** Absent = done. */
  remove(workspace: WorkspaceId): Promise<void>
}
