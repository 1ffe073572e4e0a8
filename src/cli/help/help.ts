import type { Table } from '../../api/table.ts'
import type { Builtin } from '../builtins.ts'
import { paint, wantsColor } from '../output/color.ts'
import { commandsOf, findCommand, groupError, unknownCommand, visibleBuiltins } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Globals } from '../input/globals.ts'
import { errorsText, flagRows, globalRows, operationPage, pageOf } from './help-page.ts'
import type { Io } from '../io.ts'
import { rows, type Page } from '../output/layout.ts'

/** `aw help`, `aw help create`, `aw create --help` */
export async function helpCommand(words: readonly string[], globals: Globals, io: Io): Promise<number> {
  const page: Page = {
    paint: paint(wantsColor(io.stdout.isTerminal, io.env, globals.noColor)),
    width: io.stdout.isTerminal ? Math.min(Math.max(io.stdout.columns, 50), 100) : 100,
  }
  await io.stdout.write(`${helpFor(words, io.table, page)}\n`)
  return 0
}

export function helpFor(words: readonly string[], table: Table, page: Page): string {
  if (words.length === 0) return overview(table, page)
  if (words.join(' ') === 'exit-codes') return exitCodePage(page)
  const command = findCommand(words, table)
  if (command.kind === 'builtin') return builtinPage(command.builtin, page)
  if (command.kind === 'group') {
    if (command.rest.length > 0) throw groupError(command.group, command.rest[0], table)
    return groupPage(command.group, table, page)
  }
  const { operation } = command
  if (command.rest.length === 0) return operationPage(operation, page, commandsOf(operation.name, table))
  throw unknownCommand(words.join(' '), table)
}

/** Everything at a glance. */
function overview(table: Table, page: Page): string {
  const { bold, dim } = page.paint
  const groups = [...new Set(table.map((entry) => entry.group))]
  const own = visibleBuiltins()
  const width = Math.max(...table.map((entry) => entry.name.length))
  const section = (title: string, entries: readonly { name: string; summary: string }[]): string =>
    `${bold(title)}\n${rows(
      entries.map(({ name, summary }) => [name, summary]),
      page,
      width,
    )}`
  return [
    `${bold('aw')} gives every agent a workspace of its own: isolated, recorded, never lost.`,
    `${bold('Usage')}  aw COMMAND [ARGUMENTS] [FLAGS]`,
    ...groups.map((group) =>
      section(
        group,
        [...table, ...own].filter((entry) => entry.group === group),
      ),
    ),
    section(
      'This command line',
      own.filter(({ group }) => group === undefined),
    ),
    `${bold('Flags for every command')}\n${globalRows(page)}`,
    `${dim('New here?')} aw tour   ${dim('At work:')} aw run --repo . --agent claude "Mend the login form"\n${dim('More:')} aw help COMMAND, aw help exit-codes`,
  ].join('\n\n')
}

function groupPage(group: string, table: Table, page: Page): string {
  const entries = commandsOf(group, table).map(({ name, summary }) => [name, summary] as const)
  return [
    `${page.paint.bold('Usage')}  aw ${group} COMMAND [ARGUMENTS] [FLAGS]`,
    rows(entries, page),
    `More: aw help ${group} COMMAND`,
  ].join('\n\n')
}

function builtinPage(builtin: Builtin, page: Page): string {
  const { name, summary, usage, details, examples, errors = [] } = builtin
  const input = builtin.input?.()
  return pageOf(
    {
      summary,
      usage,
      details,
      flags: input === undefined ? [] : flagRows({ name, input }),
      examples,
      errors: errorsText({ input: input ?? {}, errors }, page),
    },
    page,
  )
}

function exitCodePage(page: Page): string {
  const entries = exitCodes().map(({ exit, meaning, codes }) => {
    const list = codes.length === 0 ? '' : ` (${codes.join(', ')})`
    return [String(exit), meaning + list] as const
  })
  return [
    `${page.paint.bold('Exit codes')}\n${rows(entries, page)}`,
    'With --json an error says its code by name.',
  ].join('\n\n')
}
