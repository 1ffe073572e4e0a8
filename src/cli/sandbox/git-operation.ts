import type { Operation } from '../../api/operation.ts'
import { operations } from '../../api/table.ts'

const { input, ...exec } = operations.find(({ name }) => name === 'exec') as Operation

/** What is left to say: which walls it runs behind is settled. */
const fields = ['id', 'argv', 'cwd', 'env', 'timeout_ms']

/** `aw git` is `aw exec` of git, always behind walls. */
export const gitOperation: Operation = {
  ...exec,
  name: 'git',
  input: {
    ...input,
    required: ['id'],
    properties: Object.fromEntries(Object.entries(input.properties ?? {}).filter(([field]) => fields.includes(field))),
  },
}
