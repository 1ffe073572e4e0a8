import { errorTable, type ErrorCode } from '../domain/errors.ts'

/** What a command that runs a program ends with when it fails itself: the codes below are those of the program. */
export const cannotRun = 125
export const notExecutable = 126
export const notFound = 127

const meanings: Readonly<Record<number, string>> = {
  0: 'It worked',
  1: 'Something unexpected failed, or a check found a problem',
  2: 'The command line or the configuration is not right',
  3: 'Not found',
  4: 'It exists already, or the state does not allow it',
  5: 'Denied, or the path is not acceptable',
  6: 'What was asked for cannot be enforced or done here',
  7: 'No space left, or over the size limit',
  8: 'An approval is pending or was denied',
  9: 'In use, or another operation is in progress',
  124: 'The time ran out',
  125: 'aw exec, shell, run, wait, git: the command could not be run, whatever the reason',
  126: 'aw exec, shell, run, wait, git: the command is not executable',
  127: 'aw exec, shell, run, wait, git: the command was not found',
  130: 'Stopped by Ctrl-C or a signal',
}

export interface ExitCode {
  readonly exit: number
  readonly meaning: string
  readonly codes: readonly ErrorCode[]
}

/** What each exit code means and which errors end with it. */
export function exitCodes(): ExitCode[] {
  const codes = Object.keys(errorTable) as ErrorCode[]
  return Object.entries(meanings).map(([exit, meaning]) => ({
    exit: Number(exit),
    meaning,
    codes: codes.filter((code) => errorTable[code].exit === Number(exit)),
  }))
}
