import type { Operation } from '../../src/api/operation.ts'
import { generated, table } from './operations-page.ts'
import { operations, type Table } from '../../src/api/table.ts'
import type { Builtin } from '../../src/cli/builtins.ts'
import { visibleBuiltins } from '../../src/cli/command.ts'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { usage } from '../../src/cli/input/flags.ts'
import { globalFlags } from '../../src/cli/input/globals.ts'
import { argumentRows, flagRows } from '../../src/cli/help/help-page.ts'

/** The reference page of the command line, as Markdown. */
export function cliPage(entries: Table = operations): string {
  const own = visibleBuiltins()
  const groups = [...new Set(entries.map((entry) => entry.group))]
  return [
    '# Command line',
    generated,
    'Results go to standard output, everything else to standard error. A terminal gets tables and colours; a pipe gets ' +
      'plain text with tabs. With `--json` the answer is one line of JSON (a stream: one line an item), and an error is ' +
      'one object on standard error: `{"code","message","hint","data"}`.',
    '`--id X` and `X` by position mean the same. `--flag value` and `--flag=value` mean the same. `--` ends the flags. ' +
      'Several ids, where a command takes them, give a result each; the exit code is that of the first failure.',
    '## Flags for every command',
    table(['Flag', 'About'], globalFlags.map(globalRow)),
    '## Exit codes',
    table(['Exit', 'Meaning', 'Errors'], exitCodes().map(exitRow)),
    ...groups.flatMap((group) => [
      `## ${group}`,
      ...entries.filter((entry) => entry.group === group).map(section),
      ...own.filter((entry) => entry.group === group).map(ownSection),
    ]),
    '## This command line',
    ...own.filter(({ group }) => group === undefined).map(ownSection),
  ].join('\n\n')
}

function ownSection({ name, usage, summary, details, examples, input }: Builtin): string {
  const flags = flagTable({ name, input: input?.() ?? {} })
  const parts = [`### ${name}`, code(usage), `${summary}. ${details}`, flags]
  return [...parts, code(examples.join('\n'))].filter((part) => part !== undefined).join('\n\n')
}

function section(operation: Operation): string {
  const flags = flagTable(operation)
  return [
    `### ${operation.name}`,
    code(usage(operation)),
    `${operation.summary}.`,
    operation.details,
    operation.positional.length === 0 ? undefined : table(['Argument', 'About'], argumentRows(operation)),
    flags,
    code(operation.examples.join('\n')),
  ]
    .filter((part) => part !== undefined)
    .join('\n\n')
}

function flagTable(command: Parameters<typeof flagRows>[0]): string | undefined {
  const rows = flagRows(command).map(([flag, about]) => [`\`${flag}\``, about])
  return rows.length === 0 ? undefined : table(['Flag', 'About'], rows)
}

const code = (text: string): string => `\`\`\`sh\n${text}\n\`\`\``

function globalRow({ name, short, value, choices, about }: (typeof globalFlags)[number]): [string, string] {
  const shown = choices?.join('|') ?? value
  return [`\`${short === undefined ? '' : `-${short}, `}--${name}${shown === undefined ? '' : ` ${shown}`}\``, about]
}

const exitRow = ({ exit, meaning, codes }: ReturnType<typeof exitCodes>[number]): string[] => [
  String(exit),
  meaning,
  codes.map((name) => `[\`${name}\`](errors.md#${name})`).join(' '),
]
