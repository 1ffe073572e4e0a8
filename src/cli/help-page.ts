import type { Operation } from '../api/operation.ts'
import { errorTable } from '../domain/errors.ts'
import { choicesOf, flagsOf, placeholder, positionName, readsStdin, repeatedAt, usage, type Flag } from './flags.ts'
import { globalRows, type Page } from './help.ts'
import { rows, wrap } from './layout.ts'

/**
 * All there is to know about one command.
 * @param longer commands that begin with its words
 */
export function operationPage(operation: Operation, page: Page, longer: readonly Operation[] = []): string {
  const { bold, dim } = page.paint
  const section = (title: string, body: string): string[] => (body === '' ? [] : [`${bold(title)}\n${body}`])
  return [
    operation.summary,
    `${bold('Usage')}  ${usage(operation)}`,
    ...(operation.details === undefined ? [] : [wrap(operation.details, page.width).join('\n')]),
    ...section(
      'More commands',
      rows(
        longer.map(({ name, summary }) => [name, summary]),
        page,
      ),
    ),
    ...section('Arguments', rows(argumentRows(operation), page)),
    ...section('Flags', rows(flagRows(operation), page)),
    ...section('Flags for every command', globalRows(page)),
    ...section('Examples', operation.examples.map((example) => `  ${dim('$')} ${example}`).join('\n')),
    ...section('Errors', rows(errorRows(operation), page)),
  ].join('\n\n')
}

export function argumentRows(operation: Operation): [string, string][] {
  const flags = flagsOf(operation)
  return operation.positional.map((field, i) => {
    const flag = flags.find((candidate) => candidate.field === field)
    const about = flag?.schema.description ?? ''
    const several = i === repeatedAt(operation) && flag?.schema['x-cli'] !== 'command'
    return [positionName(field, flag), several ? `${about}; several may be given` : about]
  })
}

export const flagRows = (command: Parameters<typeof flagsOf>[0]): [string, string][] =>
  flagsOf(command).map((flag) => [flagText(flag), flagAbout(flag)])

/** `--task, --task-id TASK` */
function flagText(flag: Flag): string {
  const spelling = (name: string): string => `--${flag.schema.default === true ? 'no-' : ''}${name}`
  const names = [...(flag.short === undefined ? [] : [`-${flag.short}`]), ...flag.names.map(spelling)].join(', ')
  return flag.kind === 'switch' ? names : `${names} ${placeholder(flag)}`
}

function flagAbout(flag: Flag): string {
  const { description = '', default: fallback } = flag.schema
  const choices = choicesOf(flag)
  const hidden = choices.length > 0 && !placeholder(flag).includes('|')
  const parts = [
    flag.schema.default === true ? `Do not ${description.charAt(0).toLowerCase()}${description.slice(1)}` : description,
    hidden ? `One of ${choices.join(', ')}` : '',
    flag.kind === 'many' ? (choices.length > 0 ? 'May be repeated, or separated by commas' : 'May be repeated') : '',
    flag.schema['x-cli'] === 'json' ? 'A JSON object, or @FILE that holds one' : '',
    readsStdin(flag) ? 'Otherwise standard input is read' : '',
    fallback === undefined || typeof fallback === 'boolean' ? '' : `Default: ${JSON.stringify(fallback)}`,
  ]
  return parts.filter((part) => part !== '').join('. ')
}

const errorRows = (operation: Operation): [string, string][] =>
  [...new Set(operation.errors)].map((code) => [code, `exit ${errorTable[code].exit}  ${errorTable[code].about}`])
