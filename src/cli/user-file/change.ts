import type { UserFile } from '../../aw.ts'
import { hunksOf } from '../../domain/text/diff.ts'
import type { Arguments } from '../input/arguments.ts'
import type { Globals } from '../input/globals.ts'
import type { Io } from '../io.ts'
import { confirm } from './confirm.ts'

/** A file of the user's own that is to become another, at their word. */
export interface Wanted {
  readonly file: UserFile
  readonly after: string
  /** What `--json` tells besides. */
  readonly about: Readonly<Record<string, string>>
  /** What is said when nothing had to change, and when it has been changed. */
  readonly unchanged: string
  readonly changed: string
}

/** Shows the difference, asks, and writes; `--yes` does not ask, `--dry-run` only shows. Answers with the exit code. */
export async function changeUserFile(
  wanted: Wanted,
  fields: Arguments['fields'],
  globals: Globals,
  io: Io,
): Promise<number> {
  const { file, after } = wanted
  const changed = after !== (file.text ?? '')
  const change = { ...wanted.about, file: file.path, changed, diff: diffOf(file, after) }
  const told = async (): Promise<number> => {
    if (globals.json) await io.stdout.write(`${JSON.stringify(change)}\n`)
    else if (!globals.quiet) await io.stderr.write(`${changed ? wanted.changed : wanted.unchanged}\n`)
    return 0
  }
  if (!changed) return told()
  if (!globals.json) await io.stdout.write(change.diff)
  if (file.linked) await io.stderr.write(`aw: the settings are a link: ${file.path} is what changes\n`)
  if (isOn(fields, 'dry_run')) return globals.json ? told() : 0
  if (!isOn(fields, 'yes') && !(await confirm(`Change ${file.path}?`, io))) {
    await io.stderr.write('Nothing was changed\n')
    return 1
  }
  const { replaceUserFile } = await import('../../aw.ts')
  replaceUserFile(file, after)
  return told()
}

const isOn = (fields: Arguments['fields'], name: string): boolean => fields.get(name)?.at(-1) === 'true'

function diffOf({ path, text = '' }: UserFile, after: string): string {
  const hunks = hunksOf(text, after)
  return hunks.length === 0 ? '' : [`--- ${path}`, `+++ ${path}`, ...hunks].map((line) => `${line}\n`).join('')
}
