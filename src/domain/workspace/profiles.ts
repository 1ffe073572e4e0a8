import { AwError } from '../errors.ts'
import { nearest } from '../text/nearest.ts'

/** A layout of the workspace directory. */
export interface Profile {
  readonly name: string
  /** The generated, read-only view of what aw knows; not part of the work. */
  readonly metadata: string
  readonly directories: readonly string[]
  /** Where a source's files go and where commands start; `.` is the workspace itself. */
  readonly content: string
  /** What a caller who asks for `rebase` gets: a session is a virtual root, whose paths are written either way. */
  readonly rebase: 'rebase' | 'virtual'
  /** Which files the metadata directory holds. */
  readonly documents: readonly ('task_spec' | 'workspace_config' | 'context' | 'run')[]
}

const plain = { rebase: 'rebase', documents: ['task_spec', 'workspace_config', 'context'] } as const

export const profiles: Readonly<Record<string, Profile>> = {
  aw: { ...plain, name: 'aw', metadata: '.aw', directories: ['work', 'output', 'tmp'], content: 'work' },
  ipa: { ...plain, name: 'ipa', metadata: '.ipa', directories: ['work', 'output'], content: 'work' },
  repo: {
    ...plain,
    name: 'repo',
    metadata: '.m',
    directories: [],
    content: '.',
    documents: ['run', 'workspace_config'],
  },
  session: {
    ...plain,
    name: 'session',
    metadata: '.aw',
    directories: ['mnt', 'output', 'tmp'],
    content: 'mnt',
    rebase: 'virtual',
  },
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
