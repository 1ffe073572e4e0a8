import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../../src/api/operation.ts'
import { inRoot } from '../../tools/root.ts'
import { fewest, shapeOf } from './shape.ts'

/** What operations answered once, and what programs that read `--json` rely on. A file is never changed. */
export const folder = inRoot('test/samples/answers')

const stem = ({ name }: Operation): string => name.replaceAll(' ', '-')

const fileOf = (operation: Operation, version: number): string => `${stem(operation)}.v${version}.json`

/** The files of an operation, the oldest first: of another one the name goes on. */
export function filesOf(operation: Operation): string[] {
  const found = readdirSync(folder).filter((name) => name.replace(/\.v\d+\.json$/, '') === stem(operation))
  return found.map((_, i) => fileOf(operation, i + 1))
}

/** All that is kept of an operation. */
export const samplesOf = (operation: Operation): unknown[] =>
  filesOf(operation).flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as unknown[])

/** Keeps what these answers tell and the kept ones do not. Answers the new file, if there is one. */
export function keep(operation: Operation, answers: readonly unknown[]): string | undefined {
  const known = samplesOf(operation)
  const added = fewest(operation.output, answers, shapeOf(operation.output, known))
  if (added.length === 0) return undefined
  const file = join(folder, fileOf(operation, filesOf(operation).length + 1))
  writeFileSync(file, `${JSON.stringify(added, undefined, 2)}\n`)
  return file
}
