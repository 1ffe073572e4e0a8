import type { WithBlocks } from './agent-files.ts'
import type { BoxId, CommandId, OperationId, SnapshotId, WorkspaceId } from '../ids.ts'
import type { Isolation, Limits, Network, Walls } from '../sandbox/spec.ts'
import type { EndedRun, OpenRun } from './runs.ts'
import type { ArchivedTree, Imported, TrashedTree } from './trees.ts'

export type { ArchivedTree, CleanupReason, Imported, TrashedTree } from './trees.ts'

export const workspaceStates = [
  'creating',
  'ready',
  'running',
  'stopped',
  'failed',
  'destroying',
  'trashed',
  'purged',
] as const

export type WorkspaceStateName = (typeof workspaceStates)[number]

/** Which state may follow which. The tests hold `evolve` to it. A workspace that was lost may still have trash. */
export const transitions: Readonly<Record<WorkspaceStateName, readonly WorkspaceStateName[]>> = {
  creating: ['ready', 'failed', 'trashed', 'purged'],
  ready: ['running', 'stopped', 'failed', 'destroying', 'trashed', 'purged'],
  running: ['ready', 'stopped', 'failed', 'destroying', 'trashed', 'purged'],
  stopped: ['ready', 'running', 'failed', 'destroying', 'trashed', 'purged'],
  failed: ['ready', 'destroying', 'trashed', 'purged'],
  destroying: ['trashed', 'purged'],
  trashed: ['creating', 'purged'],
  // A tree that was given up as lost and turns up again.
  purged: ['trashed'],
}

/** A live workspace holds its name; no other live workspace can have it. */
export const isLive = (state: WorkspaceStateName): boolean => state !== 'trashed' && state !== 'purged'

/** Something other than aw removed its tree. It did not go because somebody wanted it to: what is left of it stays. */
export const isLost = ({ state, problem }: Pick<Workspace, 'state' | 'problem'>): boolean =>
  !isLive(state) && problem?.code === 'lost'

/** Its tree is lost, but snapshots of it are there: it can be made anew from them. */
export const isRestorable = (workspace: Workspace): boolean => isLost(workspace) && workspace.snapshots.all > 0

/** The process that is carrying out an operation, precise enough never to be mistaken for a later one. */
export interface Owner {
  readonly host: string
  readonly boot_id: string
  /** The pid namespace's inode; a pid means nothing outside it. */
  readonly pid_namespace: string
  readonly pid: number
  /** Clock ticks after boot, from /proc/PID/stat: tells a reused pid apart. */
  readonly start_time: string
}

export type OperationKind =
  | 'create'
  | 'destroy'
  | 'undelete'
  | 'purge'
  | 'reset'
  | 'rename'
  | 'snapshot'
  | 'remove_snapshots'
  | 'restore'
  | 'archive'
  | 'launch'
  | 'stop'

/** A use case that has begun and whose outcome is not in the log yet. */
export interface Operation {
  readonly id: OperationId
  readonly kind: OperationKind
  readonly owner: Owner
  /** Raised by one each time another process takes the operation over. */
  readonly epoch: number
  readonly started_at: string
  /** The state to return to if the operation is abandoned. */
  readonly from: WorkspaceStateName | null
  /** The payload of the intent: what recovery needs to finish or undo the work. */
  readonly intent: Readonly<Record<string, unknown>>
}

export type Source =
  | { readonly kind: 'empty' }
  | FolderSource
  | GitSource
  | ArchiveSource
  | TemplateSource
  | ({ readonly kind: 'trash'; readonly tree: string } & FromBase & FromRepository)
  /** A tree that was on disk and that the log did not know: `area/name`. */
  | ({ readonly kind: 'orphan'; readonly tree: string } & FromBase)
  /** A fork: the workspace it was forked from, its name then, and the snapshot the fork began as. */
  | ({
      readonly kind: 'workspace'
      readonly workspace: WorkspaceId
      readonly name: string
      readonly snapshot: SnapshotId
      readonly at: string
      /** What of that workspace the snapshot could not hold. */
      readonly left_out?: readonly string[]
    } & FromRepository)

interface FromRepository {
  /** Which repository the content comes from, over however many forks, templates and archives. */
  readonly repository?: string
}

interface FromBase {
  /** The frozen tree it began as; null if there is none, undefined as long as that is not decided. */
  readonly base?: string | null
}

export interface FolderSource extends FromBase {
  readonly kind: 'folder'
  readonly path: string
  /** Patterns as in a .gitignore, and what becomes of the files that git ignores. */
  readonly exclude?: readonly string[]
  readonly ignored?: 'all' | 'listed' | 'none'
}

export interface GitSource extends FromBase {
  readonly kind: 'git'
  /** Without credentials. */
  readonly url: string
  /** As it was asked for; null for the default branch. */
  readonly ref: string | null
  readonly shallow: boolean
  /** What it was then; undefined as long as nobody has asked the repository. */
  readonly commit?: string
  /** `refs/heads/…` or `refs/tags/…`; null for a commit by its id. */
  readonly full_ref?: string | null
  readonly branch?: string | null
  /** Of a clone with all of it: what all branches and tags were. */
  readonly refs?: string
  /** Of such a clone: the repository itself has only a part of its history. */
  readonly cut?: true
  /** What came with it and was not fetched: paths of submodules, and how many files are pointers of git-lfs. */
  readonly submodules?: readonly string[]
  readonly lfs?: number
}

export interface ArchiveSource extends FromBase, FromRepository {
  readonly kind: 'archive'
  readonly path: string
  /** Somebody vouches for it. */
  readonly trusted?: boolean
  /** It is a workspace as aw exports them, and not content for one. */
  readonly whole?: boolean
  readonly digest?: string
  readonly verified?: boolean
}

export interface TemplateSource extends FromBase, FromRepository {
  readonly kind: 'template'
  readonly name: string
  readonly version: number
  readonly variables: Readonly<Record<string, string>>
}

/** What a caller configured. Texts are kept as hash and length; the file in the workspace has the text. */
export interface WorkspaceConfig {
  readonly max_size_mb: number
  readonly allowed_operations: readonly string[]
  readonly git_config: { readonly enabled: boolean; readonly user_name: string; readonly user_email: string }
  readonly [key: string]: unknown
}

/** What a sandbox is started with; enough to start it again. */
export interface BoxFacts {
  readonly sandbox: BoxId
  readonly isolation: Isolation
  readonly network: Network
  readonly limits: Limits
  /** Where the tree is inside. */
  readonly mount: string
  readonly shared: readonly SharedMount[]
  /** The agent that is to work in it: its profile says what the sandbox has besides. */
  readonly agent?: string | undefined
  /** It reaches the MCP tools of its workspace. */
  readonly mcp?: true | undefined
}

/** A shared area in a sandbox: at an absolute path inside. */
export interface SharedMount {
  readonly name: string
  readonly path: string
  readonly writable: boolean
}

export interface RunningBox extends BoxFacts {
  readonly started_at: string
  readonly supervisor: Owner
  /** Without it, a version started it that did not keep this here. */
  readonly walls?: Walls | undefined
}

/** A command whose end is not in the log. */
export interface OpenCommand {
  readonly command: CommandId
  readonly owner: Owner
  readonly sandbox: BoxId
  readonly own_sandbox: boolean
  readonly isolation: Isolation
  readonly started_at: string
  readonly inside?: CommandInside | undefined
}

/** Of the sandbox of a command's own, if those in it may run others there. */
export interface CommandInside {
  readonly mount: string
  readonly agent?: string | undefined
}

/** A tree that an undo replaced. */
export interface UndoneTree {
  readonly snapshot: SnapshotId
  /** The one that was gone on with then. */
  readonly branch: string
}

/** A tree that a restore or a redo replaced. */
export interface ReplacedTree extends UndoneTree {
  /** Only these were replaced; none: nobody knows what was, as the restore was not brought to an end. */
  readonly paths: readonly string[] | null
}

/** A workspace as the log tells it: the fold of its stream. */
export interface Workspace extends WithBlocks {
  readonly id: WorkspaceId
  readonly task: string
  readonly agent: string
  readonly state: WorkspaceStateName
  readonly profile: string
  readonly source: Source
  readonly config: WorkspaceConfig
  readonly labels: Readonly<Record<string, string>>
  readonly imported: Imported | null
  /** Where users find it: `<base_path>/<task>/<agent>`. */
  readonly path: string
  readonly driver: string
  /** Raised each time the tree below the path is replaced. */
  readonly generation: number
  readonly created_at: string
  readonly updated_at: string
  readonly operation: Operation | null
  readonly trash: readonly TrashedTree[]
  /** The snapshot that the tree was last equal to: the parent of the next. */
  readonly head: SnapshotId | null
  readonly branch: string
  /** The last snapshot of each branch. */
  readonly branches: Readonly<Record<string, SnapshotId | null>>
  /** What `redo` would restore, the next first. */
  readonly redo: readonly UndoneTree[]
  /** What the last restores replaced, the last first: `undo` takes these back. None if something else was done since. */
  readonly before: readonly ReplacedTree[]
  /** How many snapshots it has, and how many of them count against the limit. */
  readonly snapshots: { readonly all: number; readonly counted: number }
  /** When it may go to the trash; without it, it has no end of its own. */
  readonly expires_at?: string | undefined
  /** Without it, there never was one. */
  readonly archives?: readonly ArchivedTree[] | undefined
  /** The sandbox that was started around it; without it, each command has one of its own. */
  readonly sandbox?: RunningBox | undefined
  /** Commands that have begun. Without it, there are none. */
  readonly commands?: readonly OpenCommand[] | undefined
  /** The run that is waiting or under way; without it, none is. */
  readonly run?: OpenRun | undefined
  /** How many runs there were. */
  readonly runs?: number | undefined
  readonly last_run?: EndedRun | undefined
  /** A number that no other live workspace has; ports and user ids follow from it. */
  readonly slot?: number | undefined
  /** Why the workspace is in a state that nobody asked for. */
  readonly problem: { readonly code: string; readonly message: string } | null
  readonly version: number
}

/** The snapshot that a workspace began as, if it is a fork. */
export const baseOf = ({ source }: { source: Source }): SnapshotId | null =>
  source.kind === 'workspace' ? source.snapshot : null

/** The frozen tree of its source that a workspace began as. */
export const baseNameOf = ({ source }: { source: Source }): string | null =>
  'base' in source ? (source.base ?? null) : null

/** The repository that its content comes from, by itself or through others: limits on repositories count it there. */
export function repositoryOf({ source }: { source: Source }): string | null {
  if (source.kind === 'git') return source.url
  return 'repository' in source ? (source.repository ?? null) : null
}

/** What is recorded of a source that has no url of its own, so that it counts with the others of its repository. */
export function repositoryField(origin: { source: Source }): { repository?: string } {
  const repository = repositoryOf(origin)
  return repository === null ? {} : { repository }
}

export const nameOf = (workspace: { task: string; agent: string }): string => `${workspace.task}/${workspace.agent}`
