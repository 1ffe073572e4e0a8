import { AwError } from '../domain/errors.ts'

/** What a home calls its places; none of it is told to those who only see a workspace from inside. */
export interface Places {
  readonly home: string
  readonly basePath: string
  readonly storageRoot: string
}

/** Fields that hold what people and programs said, or a path as it is inside: they may begin with a slash. */
const said = ['argv', 'cwd', 'target', 'text', 'message', 'hint', 'mount', 'public_root', 'public_directories', 'label']

const inside = '/workspace'
const hidden = '(hidden)'

export type Redact = <T>(value: T) => T

/**
 * Takes paths of the machine out of an answer: a workspace's own becomes what it is called inside, any other is hidden.
 * Bytes are what the workspace holds and stay as they are.
 */
export function redaction({ home, basePath, storageRoot }: Places): Redact {
  const own = new RegExp(
    `(?:${escaped(basePath)}/[^/\\s"']+/[^/\\s"']+|${escaped(storageRoot)}/volumes/[^/\\s"']+)`,
    'g',
  )
  const any = new RegExp(`(?:${[home, basePath, storageRoot].map(escaped).join('|')})(?:/[^\\s"']*)?`, 'g')
  const text = (value: string): string => value.replaceAll(own, inside).replaceAll(any, hidden)
  const isPath = (value: string): boolean =>
    /^(?:file:\/\/)?\//.test(value) &&
    value !== inside &&
    !value.startsWith(`${inside}/`) &&
    !value.startsWith('/mnt/aw-')

  const walk = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      const clean = text(value)
      return !said.includes(key) && isPath(clean) ? hidden : clean
    }
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
    if (Array.isArray(value)) return value.map((item) => walk(item, key))
    const keep = said.includes(key) ? key : undefined
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [text(name), walk(inner, keep ?? name)]))
  }
  return <T>(value: T): T => walk(value, '') as T
}

/**
 * The same for an error. Its sentences may name any path, and what is read is not always what was asked for: all but
 * those that the caller has named is hidden.
 */
export function redactedError(error: AwError, redact: Redact, input: object): AwError {
  const named = JSON.stringify(input)
  const isKnown = (path: string): boolean =>
    path === inside || path.startsWith(`${inside}/`) || named.includes(JSON.stringify(path).slice(1, -1))
  const sentence = (text: string): string =>
    redact({ message: text }).message.replaceAll(anyPath, (path) => (isKnown(path) ? path : hidden))
  const [message, hint] = [sentence(error.message), error.hint === undefined ? undefined : sentence(error.hint)]
  const data = redact(error.data)
  const isSame = message === error.message && hint === error.hint && JSON.stringify(data) === JSON.stringify(error.data)
  return isSame ? error : new AwError(error.code, message, { ...(hint !== undefined && { hint }), data })
}

/** As a sentence names it. What follows a word or a dot is relative, or part of a URL. */
const anyPath = /(?<![\w.~/*:<>-])\/[^\s"'`,;:)]+/g

const escaped = (path: string): string => path.replaceAll(/[.\\+?^${}()|[\]*]/g, String.raw`\$&`)
