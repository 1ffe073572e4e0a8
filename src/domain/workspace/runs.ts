import type { BoxId, RunId, SnapshotId } from '../ids.ts'
import type { Isolation } from '../sandbox/spec.ts'
import type { TextRef } from '../text/ref.ts'
import type { Owner } from './state.ts'

export const runStates = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const

/** One run is kept as one step of the history, or nothing of it is. */
export const runSnapshots = ['each-run', 'off'] as const

/** What is to be run. The prompt itself is not in the log. */
export interface RunPlan {
  readonly run: RunId
  /** Counted from 1 in its workspace. */
  readonly number: number
  /** Which profile of an agent; null: a command. */
  readonly agent: string | null
  /** The command; of an agent none, as the prompt is a part of it. */
  readonly argv: readonly string[]
  /** The rest of a long command is left out. */
  readonly argv_cut: boolean
  readonly prompt: TextRef | null
  /** What it is called: `run 3`, or the first line of the prompt where the settings say so. Old logs may have null. */
  readonly label: string | null
  readonly snapshot: (typeof runSnapshots)[number]
}

/** A run whose end is not in the log. A workspace has one at a time. */
export interface OpenRun extends RunPlan {
  readonly state: 'pending' | 'running'
  /** Who asked for it. */
  readonly owner: Owner
  readonly requested_at: string
  readonly started?: StartedRun | undefined
  /** Somebody wants it to end. */
  readonly cancelling?: true | undefined
}

export interface StartedRun {
  readonly at: string
  readonly sandbox: BoxId
  readonly own_sandbox: boolean
  /** The sandbox has been up; one of its own may still be in the making. */
  readonly launched: boolean
  readonly isolation: Isolation
  /** What the workspace was kept as before it. */
  readonly before: SnapshotId | null
}

/** The last one that has ended. */
export interface EndedRun {
  readonly run: RunId
  readonly number: number
  readonly state: 'completed' | 'failed' | 'cancelled'
  readonly at: string
  readonly code: number | null
  readonly agent: string | null
  readonly prompt: TextRef | null
}
