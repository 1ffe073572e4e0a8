import { AwError } from './errors.ts'
import { nearest } from './nearest.ts'

/** A layout of the workspace directory. */
export interface Profile {
  readonly name: string
  /** The generated, read-only view of what aw knows; not part of the work. */
  readonly metadata: string
  readonly directories: readonly string[]
  /** Where a source's files go and where commands start; `.` is the workspace itself. */
  readonly content: string
  /** Which files the metadata directory holds. */
  readonly documents: readonly ('task_spec' | 'workspace_config' | 'context' | 'run')[]
}

const all = ['task_spec', 'workspace_config', 'context'] as const

export const profiles: Readonly<Record<string, Profile>> = {
  aw: { name: 'aw', metadata: '.aw', directories: ['work', 'output', 'tmp'], content: 'work', documents: all },
  ipa: { name: 'ipa', metadata: '.ipa', directories: ['work', 'output'], content: 'work', documents: all },
  repo: { name: 'repo', metadata: '.m', directories: [], content: '.', documents: ['run', 'workspace_config'] },
  session: { name: 'session', metadata: '.aw', directories: ['mnt', 'output', 'tmp'], content: 'mnt', documents: all },
}

export function profileOf(name: string): Profile {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (found !== undefined) return found
  const known = Object.keys(profiles)
  const close = nearest(name, known)
  throw new AwError('invalid_input', `There is no profile ${JSON.stringify(name)}`, {
    hint: close === undefined ? `Known are: ${known.join(', ')}` : `Did you mean ${close}?`,
    data: { field: 'profile', known },
  })
}
