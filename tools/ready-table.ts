import { isDeepStrictEqual } from 'node:util'
import type { Plugin } from 'esbuild'
import type { operations } from '../src/api/table.ts'

type Table = typeof operations

/**
 * The operation table is data. What is built holds the data itself instead of the calls that make it, each schema read
 * when somebody first asks for it: a command needs one of two hundred, and to make them all took 6 ms of each start.
 */
export const readyTable: Plugin = tablePlugin('ready-table', ({ schemas, entries }) => [
  ...schemas,
  `export const operations = [${entries.map(([, entry]) => entry).join(',\n')}]`,
])

/**
 * The same for a program that needs one operation and ends: an entry has its name, and is read when anything else of it is
 * asked for.
 */
export const waitingTable: Plugin = tablePlugin('waiting-table', ({ schemas, entries }) => [
  ...schemas,
  `const entries = {${entries.map(([name, entry]) => `${name}: () => (${entry})`).join(',\n')}}`,
  'const read = {}',
  'const whole = ({ name }) => (read[name] ??= entries[name]())',
  `const handler = {
    get: (entry, key) => (key === 'name' ? entry.name : whole(entry)[key]),
    has: (entry, key) => key in whole(entry),
    ownKeys: (entry) => Reflect.ownKeys(whole(entry)),
    getOwnPropertyDescriptor: (entry, key) => Reflect.getOwnPropertyDescriptor(whole(entry), key),
  }`,
  'export const operations = Object.keys(entries).map((name) => new Proxy({ name }, handler))',
])

interface Texts {
  readonly schemas: readonly string[]
  /** Name and entry of each operation, as expressions. */
  readonly entries: readonly (readonly [name: string, entry: string])[]
}

function tablePlugin(name: string, text: (texts: Texts) => readonly string[]): Plugin {
  return {
    name,
    setup(build) {
      build.onLoad({ filter: /\/src\/api\/table\.ts$/ }, async () => {
        const { operations } = await import('../src/api/table.ts')
        return { contents: text(textsOf(operations)).join('\n'), loader: 'js' }
      })
    },
  }
}

function textsOf(operations: Table): Texts {
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(operations)), operations))
    throw new Error('The operation table is more than data: something in it does not come back from JSON')
  // Many answer with the same.
  const known = new Set<string>()
  const later = (field: string, schema: object): string => {
    const at = [...known.add(parsed(schema))].indexOf(parsed(schema))
    return `get ${field}() { return kept(this, '${field}', schemas[${at}]()) }`
  }
  const entries = operations.map(({ input, output, ...rest }) => {
    const entry = `{ ...${parsed(rest)}, ${later('input', input)}, ${later('output', output)} }`
    return [JSON.stringify(rest.name), entry] as const
  })
  const schemas = [
    `const kept = (entry, field, value) =>
      (Object.defineProperty(entry, field, { value, enumerable: true, configurable: true }), value)`,
    `const schemas = [${[...known].map((text) => `() => ${text}`).join(',\n')}]`,
  ]
  return { schemas, entries }
}

const parsed = (value: object): string => `JSON.parse(${JSON.stringify(JSON.stringify(value))})`
