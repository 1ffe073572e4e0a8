import type { JsonSchema } from './schema.ts'

const kinds: readonly string[] = ['start', 'repository', 'file', 'output', 'directory', 'place']

/** Whether a field names something of the machine that the call is made on: a folder, a repository, a file. */
export const isOfMachine = (schema: JsonSchema | undefined): boolean => kinds.includes(schema?.['x-cli'] ?? '')
