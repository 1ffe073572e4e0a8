import type { Operation } from '../../api/operation.ts'
import { operations } from '../../api/table.ts'

/** What a terminal of its own settles. */
const settledByTerminal = ['all', 'columns', 'rows', 'output_mb']

/** `aw shell` is `aw exec` on the terminal that it is typed on. */
export const shellOperation = (): Operation => execAs('shell', (field) => !settledByTerminal.includes(field))

/** Which walls git runs behind is settled. */
const gitFields = ['id', 'argv', 'cwd', 'env', 'timeout_ms']

/** `aw git` is `aw exec` of git, always behind walls. */
export const gitOperation = (): Operation => execAs('git', (field) => gitFields.includes(field))

/** `exec` under another name, with some of its fields. The workspace has to be named. */
function execAs(name: string, keeps: (field: string) => boolean): Operation {
  const { input, ...exec } = operations.find((entry) => entry.name === 'exec') as Operation
  const fields = Object.entries(input.properties ?? {}).filter(([field]) => keeps(field))
  return { ...exec, name, input: { ...input, required: ['id'], properties: Object.fromEntries(fields) } }
}
