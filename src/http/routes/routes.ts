import { isUtf8 } from 'node:buffer'
import type { Operation } from '../../api/operation.ts'
import type { Table } from '../../api/table.ts'

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

/** The fields of a query, each with its values in order. */
export type Query = ReadonlyMap<string, readonly string[]>

/** What a request is about. */
export interface Target {
  readonly path: string
  /** The words of the path, decoded one by one: an encoded slash is part of a word. Undefined if it is not well formed. */
  readonly segments: readonly string[] | undefined
  readonly query: Query
}

/**
 * Reads a target as it stands. A URL parser would mend it first: take what follows two slashes for a host, leave out what
 * climbs, and turn backslashes round; then two readers would see two addresses. Bytes that are not UTF-8 become text that
 * is not well formed, which no operation takes: whatever stood for them instead could be the name of another file.
 */
export function targetOf(text: string): Target {
  const at = text.indexOf('?')
  const path = at === -1 ? text : text.slice(0, at)
  return { path, segments: segmentsOf(path), query: queryOf(at === -1 ? '' : text.slice(at + 1)) }
}

/** No word is empty, and none climbs. */
function segmentsOf(path: string): string[] | undefined {
  if (!/^\/(?:[\w./~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*$/.test(path)) return undefined
  const words = path.split('/').slice(1).map(decoded)
  return words.every((word) => word !== '' && word !== '.' && word !== '..' && !word.includes('\0')) ? words : undefined
}

function queryOf(text: string): Query {
  const query = new Map<string, string[]>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const [, name = '', value = ''] = (/^([^=]*)=?(.*)$/s.exec(pair) ?? []).map((one) => one.replaceAll('+', ' '))
    const field = decoded(name)
    const values = query.get(field)
    if (values === undefined) query.set(field, [decoded(value)])
    else values.push(decoded(value))
  }
  return query
}

/** A `%` that begins no byte is one. */
function decoded(text: string): string {
  const plain = text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const bytes = Buffer.from(plain, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : plain.replaceAll(/[\x80-\xff]/g, halfOf)
}

/** Half of a surrogate pair for each byte beyond ASCII; the other half is never there. */
const halfOf = (byte: string): string => String.fromCharCode(0xdc00 + byte.charCodeAt(0))
