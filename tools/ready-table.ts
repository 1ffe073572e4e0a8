import { isDeepStrictEqual } from 'node:util'
import type { Plugin } from 'esbuild'
import type { operations } from '../src/api/table.ts'
import { inRoot } from './root.ts'

type Table = typeof operations

/**
 * The operation table is data. What is built holds the data itself instead of the calls that make it, each schema read
 * when somebody first asks for it: a command needs one of two hundred, and to make them all took 6 ms of each start.
 */
export const readyTable: Plugin = {
  name: 'ready-table',
  setup(build) {
    build.onLoad({ filter: /\/src\/api\/table\.ts$/ }, async () => {
      const table = await dataOf()
      return { contents: `${kept}\nexport const operations = [${table.map(entryText).join(',\n')}]`, loader: 'js' }
    })
  },
}

/**
 * The same for a program that needs one operation and ends: an entry has its name, and is read when anything else of it is
 * asked for. Each stands in a module of its own, for which there is no file.
 */
export const waitingTable: Plugin = {
  name: 'waiting-table',
  setup(build) {
    build.onResolve({ filter: /\/table-\d+\.ts$/ }, ({ path }) => ({
      path: inRoot(`src/api/${path.split('/').at(-1)}`),
    }))
    build.onLoad({ filter: /\/src\/api\/table(-\d+)?\.ts$/ }, async ({ path }) => {
      const table = await dataOf()
      const [, place] = /-(\d+)\.ts$/.exec(path) ?? []
      const entry = place === undefined ? undefined : table[Number(place)]
      return { contents: entry === undefined ? waitingText(table) : waitingEntry(entry), loader: 'js' }
    })
  },
}

const waitingEntry = (entry: Table[number]): string => `${kept}\nexport const entry = () => (${entryText(entry)})`

const waitingText = (table: Table): string => `
${table.map((_, place) => `import { entry as entry${place} } from './table-${place}.ts'`).join('\n')}
const entries = {${table.map(({ name }, place) => `${JSON.stringify(name)}: () => entry${place}()`).join(',\n')}}
const read = {}
const whole = ({ name }) => (read[name] ??= entries[name]())
const handler = {
  get: (entry, key) => (key === 'name' ? entry.name : whole(entry)[key]),
  has: (entry, key) => key in whole(entry),
  ownKeys: (entry) => Reflect.ownKeys(whole(entry)),
  getOwnPropertyDescriptor: (entry, key) => Reflect.getOwnPropertyDescriptor(whole(entry), key),
}
export const operations = Object.keys(entries).map((name) => new Proxy({ name }, handler))`

let data: Promise<Table> | undefined
const dataOf = (): Promise<Table> => (data ??= readData())

async function readData(): Promise<Table> {
  const { operations } = await import('../src/api/table.ts')
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(operations)), operations))
    throw new Error('The operation table is more than data: something in it does not come back from JSON')
  return operations
}

const kept = `const kept = (entry, field, value) =>
  (Object.defineProperty(entry, field, { value, enumerable: true, configurable: true }), value)`

const entryText = ({ input, output, ...rest }: Table[number]): string =>
  `{ ...${parsed(rest)}, ${later('input', input)}, ${later('output', output)} }`

const later = (field: string, schema: object): string =>
  `get ${field}() { return kept(this, '${field}', ${parsed(schema)}) }`

const parsed = (value: object): string => `JSON.parse(${JSON.stringify(JSON.stringify(value))})`
