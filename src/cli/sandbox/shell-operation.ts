import type { Operation } from '../../api/operation.ts'
import { operations } from '../../api/table.ts'

const { input, ...exec } = operations.find(({ name }) => name === 'exec') as Operation

/** What a terminal of its own settles. */
const settled = ['all', 'columns', 'rows', 'output_mb']

/** `aw shell` is `aw exec` on the terminal that it is typed on. */
export const shellOperation: Operation = {
  ...exec,
  name: 'shell',
  input: {
    ...input,
    required: ['id'],
    properties: Object.fromEntries(
      Object.entries(input.properties ?? {}).filter(([field]) => !settled.includes(field)),
    ),
  },
}
