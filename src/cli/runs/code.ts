import type { Outputs } from '../../api/table.ts'
import { codeOfSignal, exitCodeOf } from '../sandbox/exit-code.ts'
import { codeOfFailure } from '../sandbox/here.ts'

/** As the command itself would have ended here; 130 if it was cancelled, 125 to 127 if it never ran. */
export function codeOfRun({ state, exit, problem }: Outputs['wait']): number {
  if (state === 'cancelled') return codeOfSignal('SIGINT')
  if (exit === null) return codeOfFailure(problem?.code ?? '', true)
  const { code = null, signal = null, timed_out = false, output_cut = false, duration_ms = 0 } = exit
  return exitCodeOf({ code, signal, timed_out, output_cut, duration_ms })
}
