import { realpathSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import type { Globals } from '../input/globals.ts'
import type { Io } from '../io.ts'

/** How others are to start this very program, with the same home: for settings that are not shared. */
export const selfCommand = (globals: Globals, io: Io): string[] => [
  ...selfProgram(io.env['PATH'] ?? ''),
  ...placeFlags(globals, io),
]

/** The command as everybody has it. */
export const sharedCommand = (globals: Globals, io: Io): string[] => ['aw', ...placeFlags(globals, io)]

const placeFlags = ({ home, configFile }: Globals, { cwd }: Io): string[] =>
  Object.entries({ '--home': home, '--config-file': configFile }).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, resolve(cwd, value)],
  )

/** By the name on the search path, which stays when a new version is installed; else by this program and its Node. */
function selfProgram(searchPath: string): string[] {
  const script = process.argv[1] ?? ''
  const own = realOf(script)
  const onPath = searchPath
    .split(delimiter)
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, 'aw'))
    .find((file) => own !== undefined && realOf(file) === own)
  return onPath === undefined ? [process.execPath, own ?? script] : [onPath]
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
