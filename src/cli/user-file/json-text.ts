/**
 * Changes in a JSON text that leave every other byte as it is: who keeps settings by hand keeps their order, their
 * spaces and their line ends. The text has been parsed by `JSON.parse` before, so it is known to be JSON.
 */

export interface JsonNode {
  readonly value: unknown
  readonly start: number
  readonly end: number
  /** Of an object, in their order; a key may stand there twice. */
  readonly members: readonly JsonMember[]
  /** Of an array. */
  readonly items: readonly JsonNode[]
}

interface JsonMember {
  readonly key: string
  readonly start: number
  readonly node: JsonNode
}

export function readJson(text: string): JsonNode {
  return nodeAt(text, skip(text, 0))
}

export const memberOf = (node: JsonNode, key: string): JsonNode | undefined =>
  node.members.find((member) => member.key === key)?.node

function nodeAt(text: string, start: number): JsonNode {
  const sign = text[start] ?? ''
  if (sign !== '{' && sign !== '[') {
    const end = sign === '"' ? stringEnd(text, start) : start + (/^[^\s,\]}]+/.exec(text.slice(start))?.[0].length ?? 0)
    return { value: JSON.parse(text.slice(start, end)), start, end, members: [], items: [] }
  }
  const members: JsonMember[] = []
  const items: JsonNode[] = []
  let at = skip(text, start + 1)
  while (text[at] !== '}' && text[at] !== ']') {
    const keyEnd = sign === '{' ? stringEnd(text, at) : at
    const node = nodeAt(text, sign === '{' ? skip(text, skip(text, keyEnd) + 1) : at)
    if (sign === '{') members.push({ key: JSON.parse(text.slice(at, keyEnd)) as string, start: at, node })
    else items.push(node)
    at = skip(text, node.end)
    if (text[at] === ',') at = skip(text, at + 1)
  }
  const end = at + 1
  return { value: JSON.parse(text.slice(start, end)), start, end, members, items }
}

function skip(text: string, at: number): number {
  while (/[\s\ufeff]/.test(text[at] ?? '.')) at++
  return at
}

function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/** A member, at the end of an object that has none of that name. */
export function withMember(text: string, object: JsonNode, key: string, value: unknown): string {
  const last = object.members.at(-1)
  const own = marginAt(text, object.start)
  const margin = last === undefined ? own + unitOf(text) : marginAt(text, last.start)
  const isFlat = last === undefined ? isOneLine(text) : !startsLine(text, last.start)
  const eol = endOfLine(text)
  const written = isFlat
    ? `${JSON.stringify(key)}:${/":\s/.test(text) ? ' ' : ''}${JSON.stringify(value)}`
    : `${JSON.stringify(key)}: ${tall(text, value, margin)}`
  if (last === undefined)
    return splice(text, object, isFlat ? `{${written}}` : `{${eol}${margin}${written}${eol}${own}}`)
  const between = isFlat ? (/,\s/.test(text) ? ', ' : ',') : `,${eol}${margin}`
  return splice(text, { start: last.node.end, end: last.node.end }, between + written)
}

export function withoutMember(text: string, object: JsonNode, key: string): string {
  const index = object.members.findIndex((member) => member.key === key)
  return cut(
    text,
    object,
    object.members.map(({ start, node }) => ({ start, end: node.end })),
    index,
    '{}',
  )
}

export const withoutItem = (text: string, array: JsonNode, index: number): string =>
  cut(text, array, array.items, index, '[]')

/** Another value in the place of one; written on one line if that was. */
export function withValue(text: string, node: JsonNode, value: unknown): string {
  const isFlat = !text.slice(node.start, node.end).includes('\n')
  return splice(text, node, isFlat ? JSON.stringify(value) : tall(text, value, marginAt(text, node.start)))
}

const tall = (text: string, value: unknown, margin: string): string =>
  JSON.stringify(value, null, unitOf(text)).replaceAll('\n', endOfLine(text) + margin)

const endOfLine = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

interface Span {
  readonly start: number
  readonly end: number
}

function cut(text: string, holder: Span, parts: readonly Span[], index: number, empty: string): string {
  const part = parts[index] ?? holder
  if (parts.length === 1) return splice(text, holder, empty)
  const next = parts[index + 1]
  const before = parts[index - 1]
  return splice(text, { start: next === undefined ? (before?.end ?? 0) : part.start, end: next?.start ?? part.end }, '')
}

const splice = (text: string, { start, end }: Span, put: string): string => text.slice(0, start) + put + text.slice(end)

/** What the line begins with that something stands on. */
const marginAt = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? ''

const startsLine = (text: string, at: number): boolean =>
  /^[ \t]*$/.test(text.slice(text.lastIndexOf('\n', at - 1) + 1, at)) && text.lastIndexOf('\n', at - 1) !== -1

/** An empty object says nothing about how its owner writes. */
const isOneLine = (text: string): boolean => text.includes(':') && !text.trim().includes('\n')

const unitOf = (text: string): string => /\n([ \t]+)"/.exec(text)?.[1] ?? '  '
