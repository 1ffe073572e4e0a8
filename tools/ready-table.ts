import { isDeepStrictEqual } from 'node:util'
import type { Plugin } from 'esbuild'
import type { operations } from '../src/api/table.ts'

type Table = typeof operations

/**
 * The operation table is data. What is built holds the data itself instead of the calls that make it, each schema read
 * when somebody first asks for it: a command needs one of two hundred, and to make them all took 6 ms of each start.
 */
export const readyTable: Plugin = {
  name: 'ready-table',
  setup(build) {
    build.onLoad({ filter: /\/src\/api\/table\.ts$/ }, async () => {
      const { operations } = await import('../src/api/table.ts')
      return { contents: tableModule(operations), loader: 'js' }
    })
  },
}

function tableModule(operations: Table): string {
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(operations)), operations))
    throw new Error('The operation table is more than data: something in it does not come back from JSON')
  return [
    'const kept = (entry, field, value) => (Object.defineProperty(entry, field, { value, enumerable: true }), value)',
    `export const operations = [${operations.map(entryText).join(',\n')}]`,
  ].join('\n')
}

const entryText = ({ input, output, ...rest }: Table[number]): string =>
  `{ ...${parsed(rest)}, ${later('input', input)}, ${later('output', output)} }`

const later = (field: string, schema: object): string =>
  `get ${field}() { return kept(this, '${field}', ${parsed(schema)}) }`

const parsed = (value: object): string => `JSON.parse(${JSON.stringify(JSON.stringify(value))})`
