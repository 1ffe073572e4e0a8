/**
 * Keeps what operations answer today and did not answer before, as files of test/samples/answers. Those that are there
 * are never changed: they are what programs rely on.
 */
import { execFileSync } from 'node:child_process'
import type { Operation } from '../src/api/operation.ts'
import { operations } from '../src/api/table.ts'
import { keep } from '../test/answers/samples.ts'
import { everyAnswer } from '../test/answers/story.ts'
import { inRoot } from './root.ts'

const told = await everyAnswer()
const kept = (operations as readonly Operation[]).flatMap(
  (operation) => keep(operation, told.get(operation.name) ?? []) ?? [],
)
const format = inRoot('node_modules/oxfmt/bin/oxfmt')
if (kept.length > 0) execFileSync(process.execPath, [format, ...kept], { stdio: 'ignore' })
for (const file of kept) console.log(file)
