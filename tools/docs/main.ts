/** Writes docs/reference/ from the tables in src/. `test/docs/reference.test.ts` fails when the two differ. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configPage, errorsPage, operationsPage } from './operations-page.ts'
import { cliPage } from './cli-page.ts'
import { inRoot } from '../root.ts'

export const referencePages = (): Readonly<Record<string, string>> => ({
  'cli.md': `${cliPage()}\n`,
  'config.md': `${configPage()}\n`,
  'errors.md': `${errorsPage()}\n`,
  'operations.md': `${operationsPage()}\n`,
})

if (import.meta.main) {
  const folder = inRoot('docs/reference')
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(referencePages())) await writeFile(join(folder, name), text)
}
