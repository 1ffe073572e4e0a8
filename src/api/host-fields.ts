import type { JsonSchema } from './schema.ts'

const hostKinds: readonly string[] = ['start', 'repository', 'file', 'output', 'directory', 'place']

/** Whether a field names something of the machine that the call is made on: a folder, a repository, a file. */
export const namesHostResource = (schema: JsonSchema | undefined): boolean =>
  hostKinds.includes(schema?.['x-cli'] ?? '')
