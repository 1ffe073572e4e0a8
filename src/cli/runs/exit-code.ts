import type { Outputs } from '../../api/table.ts'
import { exitCodeOf, exitCodeOfFailure, exitCodeOfSignal } from '../sandbox/exit-code.ts'

/** As the command itself would have ended here; 130 if it was cancelled, 125 to 127 if it never ran. */
export function exitCodeOfRun({ state, exit, problem, started_at: began }: Outputs['wait']): number {
  if (state === 'cancelled') return exitCodeOfSignal('SIGINT')
  // What failed before it began has nothing to do with its program.
  if (exit === null) return exitCodeOfFailure(problem?.code ?? '', began !== null)
  // As of aw exec: aw itself has stopped it.
  if (exit.over_limit === true) return exitCodeOfFailure('quota_exceeded', false)
  const { code = null, signal = null, timed_out = false, output_cut = false, duration_ms = 0 } = exit
  return exitCodeOf({ code, signal, timed_out, output_cut, duration_ms })
}
