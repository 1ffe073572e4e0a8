import type { WithBlocks } from './agent-files.ts'
import type { BoxId, CommandId, RunId, SnapshotId } from '../ids.ts'
import type { Exit, Grades, Isolation, Walls } from '../sandbox/spec.ts'
import type { RunPlan } from './runs.ts'
import type {
  BoxFacts,
  CleanupReason,
  CommandInside,
  Imported,
  OperationKind,
  Owner,
  Source,
  WorkspaceConfig,
} from './state.ts'

/** Every event of a workspace says whose it is, so that a task's history is a filter and not a join. */
interface NameFields {
  task_id: string
  agent_id: string
}

/** What did not work though the rest did. */
interface Problem {
  code: string
  message: string
}

/** Where a snapshot stands in its workspace's history, and what its maker said about it. */
interface SnapshotPlan {
  snapshot: SnapshotId
  /** The snapshot that the tree was last equal to. A fork's first has the one it was forked from. */
  parent: SnapshotId | null
  branch: string
  label: string | null
  meta: Record<string, unknown>
  /** The caller's own name for this very snapshot: asking for it again is answered with it. */
  key: string | null
  /** `user` asked for it, `auto` by policy, `safety` before something was replaced, `fork` to fork from. */
  reason: 'user' | 'auto' | 'safety' | 'fork'
}

export interface SnapshotFacts extends SnapshotPlan {
  mechanism: string
  consistency: 'atomic' | 'frozen' | 'fuzzy'
  /** Paths that differ from the parent; null if that was not counted. */
  files_changed: number | null
  /** Names that were in it, empty, only because a sandbox was on: they are in no tree that is made from it. */
  passing?: string[]
  /** Of earlier versions: nothing had been changed since the workspace was made, so it shows what that began as. */
  beginning?: true
}

/** An intent begins an operation; the event's `meta.operation` has its id and epoch 1. */
interface Intent extends NameFields {
  operation: OperationKind
  owner: Owner
}

/**
 * The facts of a workspace, in the past tense. `*_started` are intents: written before the
 * host is touched, with the names of everything that will be made. The others are outcomes.
 */
export interface WorkspaceEventData {
  workspace_create_started: Intent &
    WithBlocks & {
      workspace_path: string
      profile: string
      source: Source
      config: WorkspaceConfig
      labels: Record<string, string>
      driver: string
      /** When it may go to the trash by itself. */
      expires_at?: string
    }
  workspace_created: NameFields & {
    workspace_path: string
    config: WorkspaceConfig
    created_at: string
    /** What was copied from the source, and what was left out. */
    imported: Imported | null
    /** With what became known of it while it was read. */
    source?: Source
  }
  /** The source could not be had. The workspace is there, empty: a reset tries again. */
  workspace_source_failed: NameFields & { workspace_path: string; created_at: string; problem: Problem }

  workspace_destroy_started: Intent & { workspace_path: string; cleanup_reason: CleanupReason; tree: string }
  /** The workspace has left its path. For `failed_create` there was nothing to keep, or its run never began. */
  workspace_cleanup: NameFields & { workspace_path: string; cleanup_reason: CleanupReason; tree: string | null }

  workspace_undelete_started: Intent & { workspace_path: string; tree: string }
  workspace_undeleted: NameFields & { workspace_path: string; tree: string; problem?: Problem }

  workspace_purge_started: Intent & { trees: string[]; snapshots: SnapshotId[] }
  /** The bytes of these trees are gone for good. */
  workspace_purged: NameFields & { trees: string[]; snapshots: SnapshotId[] }

  workspace_reset_started: Intent & WithBlocks & { workspace_path: string; generation: number; tree: string }
  /** A new tree stands at the path; the one before it is in the trash. */
  workspace_reset: NameFields & {
    workspace_path: string
    generation: number
    tree: string
    source?: Source
    imported?: Imported | null
  }

  workspace_rename_started: Intent & {
    workspace_path: string
    to_task_id: string
    to_agent_id: string
    to_path: string
  }
  workspace_renamed: NameFields & { workspace_path: string; from: string; problem?: Problem }

  snapshot_started: Intent & SnapshotPlan
  snapshot_created: NameFields & SnapshotFacts
  snapshot_labelled: NameFields & { snapshot: SnapshotId; label: string | null }
  snapshot_remove_started: Intent & { snapshots: RemovedSnapshot[]; why: RemovalReason }
  snapshot_removed: NameFields & { snapshots: RemovedSnapshot[]; why: RemovalReason }

  workspace_restore_started: Intent & {
    workspace_path: string
    /** What the tree becomes equal to, or what the paths are taken from. */
    snapshot: SnapshotId
    /** Where the tree as it was is kept; and, if a crash interrupts that, the tree as it was found then. */
    keep: SnapshotId
    resume: SnapshotId
    how: RestoreKind
    branch: string
    /** Only these; the whole tree if null. */
    paths: string[] | null
    /** What the tree was last equal to. */
    since: SnapshotId | null
    generation: number
  }
  /**
   * The tree, or some paths of it, are as in the snapshot. `kept` are the snapshots of what was replaced. With no path at
   * all (an empty list) the restore could not be brought to an end: the tree is as the `problem` left it.
   */
  workspace_restored: NameFields & {
    workspace_path: string
    snapshot: SnapshotId
    how: RestoreKind
    branch: string
    paths: string[] | null
    kept: SnapshotFacts[]
    /** What equals the tree that was replaced: the first of `kept`, or the head if it was that. */
    replaced: SnapshotId | null
    generation: number
    problem?: Problem
  }
  /** A name for a line of snapshots was given to a snapshot, or taken away. */
  workspace_branched: NameFields & { branch: string; snapshot: SnapshotId | null; removed: boolean }

  workspace_labelled: NameFields & { labels: Record<string, string> }
  /** When it may go to the trash by itself; null: never. */
  workspace_ttl_set: NameFields & { expires_at: string | null }
  /** What it may hold beyond what it began as; 0: no limit. */
  workspace_limit_set: NameFields & { max_size_mb: number }

  workspace_archive_started: Intent & { tree: string; path: string }
  /** A tree in the trash is in this file too, so that it can be erased. */
  workspace_archived: NameFields & { tree: string; path: string; digest: string; bytes: number }
  /** The time for which such a file is kept is over. */
  workspace_archive_removed: NameFields & { path: string }

  /** A sandbox that outlives its starter is about to be started around the tree. */
  sandbox_launch_started: Intent & BoxFacts
  sandbox_launched: NameFields & {
    sandbox: BoxId
    supervisor: Owner
    /** By whom each limit is kept, and what of the settings nobody keeps here. */
    grades: Grades
    notes: string[]
  }
  sandbox_stop_started: Intent & { sandbox: BoxId; why: StopReason }
  /** Everything in it has ended. `lost`: not because aw ended it; `size_limit`: the workspace was over its limit. */
  sandbox_stopped: NameFields & { sandbox: BoxId; why: StopReason | 'lost' | 'size_limit' }

  /** Which of the numbers it has that no other live workspace has; ports and user ids follow from it. */
  workspace_slot_taken: NameFields & { slot: number }

  /** A command is about to run. Of the environment only the names are told. */
  command_started: NameFields & {
    command: CommandId
    owner: Owner
    /** The sandbox it runs in; one of its own ends with it. */
    sandbox: BoxId
    own_sandbox: boolean
    isolation: Isolation
    /** How its own sandbox holds; null: it runs in another's, whose launch tells. */
    walls: Walls | null
    argv: string[]
    /** The rest of a long command is left out. */
    argv_cut: boolean
    cwd: string
    env: string[]
    terminal: boolean
    /** Its own sandbox reaches the MCP tools of the workspace: what another command in there has to know. */
    inside?: CommandInside | undefined
  }
  /** `exit` is null if nobody saw the end of it, or it could not be started: the problem says which. */
  command_ended: NameFields & { command: CommandId; exit: Exit | null; snapshot: SnapshotId | null; problem?: Problem }

  /** Somebody wants something to be run; it is waiting until the workspace is there and its sandbox stands. */
  run_requested: NameFields & RunPlan & { owner: Owner }
  /** It is about to be started in the sandbox; `before` is what the workspace was kept as. */
  run_started: NameFields & {
    run: RunId
    sandbox: BoxId
    /** The sandbox was started for it, and ends with it. */
    own_sandbox: boolean
    isolation: Isolation
    before: SnapshotId | null
  }
  run_cancel_started: NameFields & { run: RunId }
  /** It has ended by itself, with success. */
  run_completed: NameFields & RunOutcome & { exit: Exit }
  /** It has ended without success, could not be started, or nobody saw its end: the problem says which. */
  run_failed: NameFields & RunOutcome & { exit: Exit | null; problem: Problem }
  /** Somebody ended it. */
  run_cancelled: NameFields & RunOutcome & { exit: Exit | null; why: CancelReason }

  /** Variables for the commands of a workspace were given or taken away. Their values are not in the log. */
  env_changed: NameFields & { set: { name: string; secret: boolean }[]; unset: string[] }

  /** Another process goes on with the operation, because its owner is dead or was stopped. */
  operation_taken: NameFields & { operation: OperationKind; owner: Owner; epoch: number; from: Owner }
  /** The operation ended without its outcome; what it had done is undone, or kept as the reason says. */
  operation_abandoned: NameFields & { operation: OperationKind; code: string; message: string }

  /** The log knew the workspace, the disk does not: its tree was removed from outside. */
  workspace_lost: NameFields & { workspace_path: string; reason: string }

  /** Trees that the log had in the trash are not on disk: they were removed from outside. */
  trash_lost: NameFields & { trees: string[] }
  /** The tree of a workspace that was given up as lost is on disk again: it is in the trash now. */
  workspace_found: NameFields & { tree: string }

  lease_acquired: NameFields & { lease_id: string; holder: string; expires_at: string }
  /** Taken from a holder who had not been heard of for long enough. */
  lease_adopted: NameFields & {
    lease_id: string
    holder: string
    expires_at: string
    from: { lease_id: string; holder: string; active_at: string }
  }
  lease_released: NameFields & { lease_id: string; holder: string; reason: 'released' | 'expired' | 'taken' }
}

interface RemovedSnapshot {
  snapshot: SnapshotId
  /** What grew from it grows from this one now. */
  parent: SnapshotId | null
  reason: SnapshotPlan['reason']
}

/** `lost`: something other than aw removed it. */
type RemovalReason = 'user' | 'limit' | 'budget' | 'unneeded' | 'lost'

export type StopReason = 'user' | 'restore' | 'destroy' | 'reset' | 'shutdown' | 'run'

/** What ended a run besides a wish to cancel it. */
export type CancelReason = 'user' | 'stop' | 'restore' | 'destroy' | 'reset' | 'shutdown'

/** `snapshot`: what it left, if that was kept. */
interface RunOutcome {
  run: RunId
  snapshot: SnapshotId | null
  /** Why what it left could not be kept. */
  not_kept?: Problem
}

export type RestoreKind = 'restore' | 'undo' | 'redo'

export type WorkspaceEventType = keyof WorkspaceEventData

interface FormerName {
  /** Its name and path before the operation, for undoing it. */
  was: { task: string; agent: string; path: string }
}

/** What each operation set out to do, as the fold keeps it until the outcome. */
export interface Intents {
  create: WorkspaceEventData['workspace_create_started']
  destroy: WorkspaceEventData['workspace_destroy_started']
  undelete: WorkspaceEventData['workspace_undelete_started'] & FormerName
  purge: WorkspaceEventData['workspace_purge_started']
  reset: WorkspaceEventData['workspace_reset_started']
  rename: WorkspaceEventData['workspace_rename_started'] & FormerName
  snapshot: WorkspaceEventData['snapshot_started']
  remove_snapshots: WorkspaceEventData['snapshot_remove_started']
  restore: WorkspaceEventData['workspace_restore_started']
  archive: WorkspaceEventData['workspace_archive_started']
  launch: WorkspaceEventData['sandbox_launch_started']
  stop: WorkspaceEventData['sandbox_stop_started']
}
