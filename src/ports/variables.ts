import type { WorkspaceId } from '../domain/ids.ts'

/** A variable for the commands of a workspace. A secret is given to them as a file, not in their environment. */
export interface Variable {
  readonly value: string
  readonly secret: boolean
}

/**
 * Keeps the variables of workspaces outside their trees, the log and the snapshots, readable by the owner of the home
 * alone. Their values are told to commands and to nobody else.
 */
export interface Variables {
  /** By name; none if nothing was kept. */
  read(workspace: WorkspaceId): Promise<Readonly<Record<string, Variable>>>
  /** Replaces all of them, whole and durable. An empty set removes what is kept. */
  write(workspace: WorkspaceId, variables: Readonly<Record<string, Variable>>): Promise<void>
}
