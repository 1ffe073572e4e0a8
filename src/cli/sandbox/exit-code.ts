import { constants } from 'node:os'
import type { Exit } from '../../domain/sandbox/spec.ts'
import { cannotRun, notExecutable, notFound } from '../exit-codes.ts'

/** What is told of the end of a command. */
export type Ended = Pick<Exit, 'code' | 'signal' | 'timed_out' | 'output_cut' | 'duration_ms'>

const timedOut = 124

/** As a shell and `timeout` have it: its own code, 128 and the number of the signal, or 124. */
export function exitCodeOf({ code, signal, timed_out: late }: Ended): number {
  if (late) return timedOut
  return code ?? exitCodeOfSignal(signal ?? 'SIGKILL')
}

export const exitCodeOfSignal = (signal: string): number =>
  128 + (constants.signals[signal as keyof typeof constants.signals] ?? constants.signals.SIGKILL)

/** @param ofProgram the failure is about the program itself */
export function exitCodeOfFailure(code: string, ofProgram: boolean): number {
  if (!ofProgram) return cannotRun
  if (code === 'file_not_found') return notFound
  return code === 'permission_denied' ? notExecutable : cannotRun
}
