import { AwError } from './errors.ts'
import { isWorkspaceId } from './ids.ts'

/** What a user calls a workspace: `task/agent`. A single segment `X` means `X/main`. */
export interface WorkspaceName {
  readonly task: string
  readonly agent: string
}

const segment = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const rule =
  'A name is TASK/AGENT or TASK; each part is 1 to 100 letters, digits, ".", "_" or "-", starting with a letter or digit'

export function parseName(text: unknown): WorkspaceName {
  if (typeof text !== 'string') throw new AwError('invalid_name', 'The workspace name is not a string', { hint: rule })
  const parts = text.split('/')
  const [task, agent = 'main'] = parts
  if (task === undefined || parts.length > 2 || !segment.test(task) || !segment.test(agent)) {
    throw new AwError('invalid_name', `${JSON.stringify(text.slice(0, 200))} is not a workspace name`, { hint: rule })
  }
  if (isWorkspaceId(task)) {
    throw new AwError('invalid_name', `${task} is the form of a workspace id, so it cannot be a name`, { hint: rule })
  }
  return { task, agent }
}

export const formatName = (name: WorkspaceName): string => `${name.task}/${name.agent}`

/** Any text becomes a name segment: lower case, `[a-z0-9-]`, at most 50 characters, never empty. */
export function sanitizeSegment(text: string): string {
  const plain = text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 50)
    .replace(/-+$/, '')
  return plain === '' ? 'workspace' : plain
}

/** `planning` and some random bytes become `planning-4f9k2a`. */
export function generateSegment(label: string, random: Uint8Array): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
  const suffix = Array.from(random.subarray(0, 6), (byte) => alphabet[byte % alphabet.length]).join('')
  return `${sanitizeSegment(label).slice(0, 43).replace(/-+$/, '')}-${suffix}`
}

const shortName = /^[a-z0-9][a-z0-9._-]{0,62}$/

const isShortName = (name: string): boolean => shortName.test(name) && !name.includes('..')

/** `NAME` or `NAME@VERSION`. */
export function isTemplateRef(value: unknown): value is string {
  const [, name = '', version = '1'] = typeof value === 'string' ? (/^([^@]*)(?:@(.*))?$/.exec(value) ?? []) : []
  return isShortName(name) && /^[1-9]\d{0,8}$/.test(version)
}

/** Of a template or a shared area: it becomes part of a path. */
export function checkedShortName(name: string, what: string): string {
  if (isShortName(name)) return name
  throw new AwError('invalid_name', `${JSON.stringify(name.slice(0, 100))} is no name for ${what}`, {
    hint: 'Up to 63 small letters, digits, dots, dashes and underscores, the first a letter or a digit',
    data: { name },
  })
}
