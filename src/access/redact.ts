import { AwError } from '../domain/errors.ts'
import type { MountPaths } from './mount-lookup.ts'

/** What a home calls its places; none of it is told to those who only see a workspace from inside. */
export interface HostPaths {
  readonly home: string
  readonly basePath: string
  readonly storageRoot: string
}

/** Fields that hold what people and programs said, or a path as it is inside: they may begin with a slash. */
const freeTextFields = [
  'argv',
  'cwd',
  'target',
  'text',
  'message',
  'hint',
  'mount',
  'public_root',
  'public_directories',
  'label',
  'prompt',
]

const hidden = '(hidden)'

export interface Redaction {
  /** @param input what the caller has said: paths that are in it may be said back in a sentence */
  readonly redact: <T>(value: T, inside: MountPaths, input?: object) => T
  /** Names and ids of the workspaces whose paths are in it. */
  readonly refsIn: (value: unknown) => string[]
}

/**
 * Takes paths of the machine out of an answer: a workspace's own becomes what it is called inside, any other is hidden.
 * Bytes are what the workspace holds and stay as they are. The sentences of an error, wherever it is told, and of notes
 * may name any path, and what is read is not always what was asked for: all but those that the caller has named is hidden.
 */
export function redaction({ home, basePath, storageRoot }: HostPaths): Redaction {
  const own = new RegExp(
    `(?:${escaped(basePath)}/(${segment}/${segment})|${escaped(storageRoot)}/volumes/(${segment}))(/[^\\s"']*)?`,
    'g',
  )
  const any = new RegExp(`(?:${[home, basePath, storageRoot].map(escaped).join('|')})(?:/[^\\s"']*)?`, 'g')

  function refsIn(value: unknown): string[] {
    if (typeof value === 'string') return [...value.matchAll(own)].flatMap(([, name, id]) => name ?? id ?? [])
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
    return Object.entries(value).flatMap(([key, inner]) => [...refsIn(key), ...refsIn(inner)])
  }

  function redact<T>(given: T, inside: MountPaths, input: object = {}): T {
    const mounts = [...new Set(inside.values())]
    const isInside = (path: string): boolean => mounts.some((mount) => path === mount || path.startsWith(`${mount}/`))
    const isPath = (value: string): boolean => /^(?:file:\/\/)?\//.test(value) && !isInside(value)
    const text = (value: string): string =>
      value
        .replaceAll(own, (_, name?: string, id?: string, rest = '') => {
          const mount = inside.get(name ?? id ?? '')
          return mount === undefined ? hidden : `${mount}${rest}`
        })
        .replaceAll(any, hidden)
    let named: string | undefined
    const isSaid = (path: string): boolean => (named ??= inputText(input)).includes(JSON.stringify(path).slice(1, -1))
    const sentence = (clean: string): string =>
      clean.replaceAll(anyPath, (path) => (isInside(path) || isSaid(path) ? path : hidden))

    const walk = (value: unknown, key: string, isSentence: boolean): unknown => {
      if (typeof value === 'string') {
        if (key === leaseField) return isSaid(value) ? value : hidden
        const clean = text(value)
        if (isSentence) return sentence(clean)
        return !freeTextFields.includes(key) && isPath(clean) ? hidden : clean
      }
      if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
      if (Array.isArray(value)) return value.map((item) => walk(item, key, isSentence))
      const keep = freeTextFields.includes(key) ? key : undefined
      const isError = 'code' in value && typeof value.code === 'string' && 'message' in value
      const isTold = (name: string): boolean => name === 'notes' || (isError && errorTextFields.includes(name))
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [text(name), walk(inner, keep ?? name, isTold(name))]),
      )
    }
    return walk(given, '', false) as T
  }
  return { redact, refsIn }
}

/** A part of a name, or an id. */
const segment = '[A-Za-z0-9][A-Za-z0-9._-]*'

/** Of the lease of whoever works in it, as events have it: with it one would be them. */
const leaseField = 'lease_id'

const errorTextFields = ['message', 'hint']

/** An error that ends a call, as the same without what is not to be told. */
export async function redactError(error: AwError, tell: <T>(value: T) => Promise<T>): Promise<AwError> {
  const { code, message, hint, data } = error
  const told = await tell({ code, message, hint, data })
  const isSame = told.message === message && told.hint === hint && JSON.stringify(told.data) === JSON.stringify(data)
  if (isSame) return error
  return new AwError(code, told.message, { ...(told.hint !== undefined && { hint: told.hint }), data: told.data })
}

/** As a sentence names it. What follows a word or a dot is relative, or part of a URL. */
const anyPath = /(?<![\w.~/*:<>-])\/[^\s"'`,;:)]+/g

const escaped = (path: string): string => path.replaceAll(/[.\\+?^${}()|[\]*]/g, String.raw`\$&`)

/** What a caller has said itself, as text: it may be said back to them. Not content, which may be megabytes. */
export const inputText = (input: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(input).filter(([, value]) => !(value instanceof Uint8Array))))
