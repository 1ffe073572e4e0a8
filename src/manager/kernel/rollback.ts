/**
 * The reverter: each thing done is followed by how to undo it. If the work fails, the undoing runs backwards; if it
 * succeeds, `keep` forgets it. What cannot be undone is collected, never hidden.
 */
export function undoLog(): UndoLog {
  let steps: (() => Promise<unknown>)[] = []
  return {
    add: (step) => void steps.push(step),
    keep: () => void (steps = []),
    async run() {
      const failures: unknown[] = []
      for (const step of steps.toReversed()) await step().catch((error: unknown) => failures.push(error))
      steps = []
      return failures
    },
  }
}

export interface UndoLog {
  add(step: () => Promise<unknown>): void
  keep(): void
  /** Undoes everything added so far, last first; returns what failed. */
  run(): Promise<unknown[]>
}
