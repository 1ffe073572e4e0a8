/** The parts of docs/spec/event-log.md that are made from the code: `node tools/event-log-spec.ts` writes them anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { EventType } from '../src/domain/log/event.ts'
import { currentSchema, upcasts } from '../src/domain/log/upcast.ts'
import { schema } from '../src/drivers/events/sqlite/schema.ts'

export const specFile = new URL('../docs/spec/event-log.md', import.meta.url)

const samples = new URL('../test/samples/events/', import.meta.url)

/** The page with its generated parts as they should be. */
export function withGeneratedParts(page: string): string {
  return replacePart(replacePart(page, 'tables', tables()), 'events', events())
}

function replacePart(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`docs/spec/event-log.md has no part "${name}"`)
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`
}

const tables = (): string => `\`\`\`sql\n${schema.trim()}\n\`\`\``

function events(): string {
  const rows = (Object.keys(upcasts) as EventType[]).map((type) => {
    const version = currentSchema(type)
    const data = JSON.parse(readFileSync(new URL(`${type}.v${version}.json`, samples), 'utf8')) as object
    return `| \`${type}\` | ${version} | ${fieldsOf(data)} |`
  })
  return ['| type | schema | fields of `data` |', '|---|---|---|', ...rows].join('\n')
}

const fieldsOf = (data: object): string =>
  Object.entries(data)
    .map(([name, value]) => `\`${name}\` ${name === 'labels' ? 'object of strings' : kindOf(value)}`)
    .join(', ')

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `list of ${kindOf(value[0])}`
  if (typeof value === 'object') return `object (${Object.keys(value).join(', ')})`
  return typeof value
}

if (import.meta.main) writeFileSync(specFile, withGeneratedParts(readFileSync(specFile, 'utf8')))
