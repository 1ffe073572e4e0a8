import type { Operation } from '../api/operation.ts'
import type { Table } from '../api/table.ts'

/** Where an address leads: an operation, and what the address says of its input. */
export interface Found {
  readonly operation: Operation
  readonly fields: Readonly<Record<string, string>>
  /** What is meant where the caller says nothing. */
  readonly defaults?: Readonly<Record<string, unknown>>
}

export type Lookup =
  | { readonly found: Found }
  /** There is something at the address, for other methods. */
  | { readonly methods: readonly string[] }
  | undefined

interface Node {
  readonly words: Map<string, Node>
  field?: { readonly name: string; readonly node: Node }
  readonly operations: Map<string, { readonly operation: Operation; readonly fields: readonly string[] }>
}

const newNode = (): Node => ({ words: new Map(), operations: new Map() })

/** Finds operations by method and path below /api. Fields may have other names at the same place of other routes. */
export function router(table: Table): (method: string, segments: readonly string[]) => Lookup {
  const root = newNode()
  for (const operation of table) {
    for (const route of operation.routes) {
      const [method = '', path = ''] = route.split(' ')
      const fields: string[] = []
      let node = root
      for (const word of path.split('/').slice(1)) {
        if (word.startsWith(':')) {
          fields.push(word.slice(1))
          node = (node.field ??= { name: word, node: newNode() }).node
        } else {
          const next = node.words.get(word) ?? newNode()
          node.words.set(word, next)
          node = next
        }
      }
      if (node.operations.has(method)) throw new Error(`${route} is there twice`)
      node.operations.set(method, { operation, fields })
    }
  }
  return (method, segments) => {
    const values: string[] = []
    let node: Node | undefined = root
    for (const segment of segments) {
      const word: Node | undefined = node.words.get(segment)
      if (word === undefined) values.push(segment)
      node = word ?? node.field?.node
      if (node === undefined) return undefined
    }
    if (node.operations.size === 0) return undefined
    const entry = node.operations.get(method)
    if (entry === undefined) return { methods: [...node.operations.keys()] }
    const fields = Object.fromEntries(entry.fields.map((field, i) => [field, values[i] ?? '']))
    return { found: { operation: entry.operation, fields } }
  }
}

/** What a request is about. */
export interface Target {
  readonly path: string
  /** The words of the path, decoded one by one: an encoded slash is part of a word. Undefined if it is not well formed. */
  readonly segments: readonly string[] | undefined
  readonly query: URLSearchParams
}

/**
 * Reads a target as it stands. A URL parser would mend it first: take what follows two slashes for a host, leave out what
 * climbs, and turn backslashes round; then two readers would see two addresses.
 */
export function targetOf(text: string): Target {
  const at = text.indexOf('?')
  const path = at === -1 ? text : text.slice(0, at)
  const query = new URLSearchParams(at === -1 ? '' : text.slice(at + 1))
  return { path, segments: segmentsOf(path), query }
}

/** No word is empty, and none climbs. */
function segmentsOf(path: string): string[] | undefined {
  if (!/^\/[\w./~!$&'()*+,;=:@%-]*$/.test(path)) return undefined
  const words = path.split('/').slice(1)
  try {
    const decoded = words.map((word) => decodeURIComponent(word))
    return decoded.every((word) => word !== '' && word !== '.' && word !== '..' && !word.includes('\0'))
      ? decoded
      : undefined
  } catch {
    return undefined
  }
}
