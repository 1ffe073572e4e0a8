import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { isOutsideOf } from '../../../sys/processes/run.ts'

/** Where a user's programs are: whose PATH and home, and where none is ever taken from. */
export interface ProgramSearch {
  readonly path: string
  readonly home: string
  readonly avoid: readonly string[]
}

/**
 * All programs of a name, the one that the user would start first. After PATH come the places where installers put
 * programs without telling every shell, as a daemon or a script has no PATH of a login.
 */
export function* findPrograms(name: string, { path, home, avoid }: ProgramSearch): Generator<string> {
  const isSafe = isOutsideOf(avoid)
  const directories = [...path.split(':').filter((entry) => isAbsolute(entry)), ...installDirectories(home)]
  for (const directory of new Set(directories)) {
    const program = join(directory, name)
    if (isSafe(directory) && isSafe(program) && isProgram(program)) yield program
  }
}

function* installDirectories(home: string): Generator<string> {
  yield* ['/usr/local/bin', '/usr/bin', '/bin']
  for (const name of namesIn('/opt')) yield join('/opt', name, 'bin')
  if (!isAbsolute(home)) return
  for (const place of ofUsers) yield join(home, place)
  for (const [before, after] of versions) {
    const directory = join(home, before)
    const all = namesIn(directory).toSorted((a, b) => -a.localeCompare(b, 'en', { numeric: true }))
    for (const name of all) yield join(directory, name, after)
  }
}

const ofUsers = [
  '.local/bin',
  'bin',
  '.npm-global/bin',
  '.claude/local',
  '.opencode/bin',
  '.local/share/pnpm',
  '.bun/bin',
  '.yarn/bin',
  '.volta/bin',
]

/** Of programs that keep several versions of another, the newest first. */
const versions = [
  ['.nvm/versions/node', 'bin'],
  ['.local/share/fnm/node-versions', 'installation/bin'],
  ['.asdf/installs/nodejs', 'bin'],
  ['.local/share/mise/installs/node', 'bin'],
] as const

const namesIn = (directory: string): string[] =>
  ignoreErrors(['ENOENT', 'ENOTDIR', 'EACCES'], () => readdirSync(directory)) ?? []

export function isProgram(path: string): boolean {
  return (
    ignoreErrors(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'], () => {
      accessSync(path, constants.X_OK)
      return statSync(path).isFile()
    }) ?? false
  )
}
