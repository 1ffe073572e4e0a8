import type { Operation } from '../../api/operation.ts'
import { errorTable } from '../../domain/errors.ts'
import { cannotRun, notExecutable, notFound } from '../exit-codes.ts'
import {
  choicesOf,
  commandField,
  flagsOf,
  placeholder,
  positionName,
  readsStdin,
  repeatedAt,
  shownFlags,
  usage,
  type Flag,
} from '../input/flags.ts'
import { globalFlags } from '../input/globals.ts'
import { rows, wrap, type Page } from '../output/layout.ts'

/**
 * All there is to know about one command.
 * @param longer commands that begin with its words
 */
export function operationPage(operation: Operation, page: Page, longer: readonly Operation[] = []): string {
  return pageOf(
    {
      summary: operation.summary,
      usage: usage(operation),
      details: operation.details,
      longer: longer.map(({ name, summary }) => [name, summary]),
      positions: argumentRows(operation),
      flags: flagRows(operation),
      examples: operation.examples,
      errors: errorsText(operation, page),
    },
    page,
  )
}

type Rows = readonly (readonly [string, string])[]

interface Parts {
  readonly summary: string
  readonly usage: string
  readonly details: string | undefined
  readonly longer?: Rows
  readonly positions?: Rows
  readonly flags: Rows
  readonly examples: readonly string[]
  readonly errors: string
}

/** Every page has the same parts in the same order; one that is empty is left out. */
export function pageOf(parts: Parts, page: Page): string {
  const { summary, usage, details, longer = [], positions = [], flags, examples, errors } = parts
  const { bold, dim } = page.paint
  const section = (title: string, body: string): string[] => (body === '' ? [] : [`${bold(title)}\n${body}`])
  return [
    summary,
    `${bold('Usage')}  ${usage}`,
    ...(details === undefined ? [] : [wrap(details, page.width).join('\n')]),
    ...section('More commands', rows(longer, page)),
    ...section('Arguments', rows(positions, page)),
    ...section('Flags', rows(flags, page)),
    ...section('Flags for every command', globalRows(page)),
    ...section('Examples', examples.map((example) => `  ${dim('$')} ${example}`).join('\n')),
    ...section('Errors', errors),
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
  shownFlags(command).map((flag) => [flagText(flag), flagAbout(flag)])

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
    flag.schema['x-cli'] === 'milliseconds' ? `As 90s, 5m or 2h; --${flag.names[1]} takes milliseconds` : '',
    readsStdin(flag) ? 'Otherwise standard input is read' : '',
    fallback === undefined || typeof fallback === 'boolean' ? '' : `Default: ${JSON.stringify(fallback)}`,
  ]
  return parts.filter((part) => part !== '').join('. ')
}

/** Of a command that runs a program, the exit codes below 125 are that program's. */
export function errorsText({ input, errors }: Pick<Operation, 'input' | 'errors'>, page: Page): string {
  const runs = commandField({ input }) !== undefined
  const entries = [...new Set(errors)].map((code): [string, string] => {
    const { exit, about } = errorTable[code]
    return [code, runs ? about : `exit ${exit}  ${about}`]
  })
  const same = `  exit ${cannotRun}, whatever the code; a program that cannot be started is ${notExecutable}, one that is not there ${notFound}\n`
  return `${runs ? same : ''}${rows(entries, page)}`
}

export function globalRows(page: Page): string {
  return rows(
    globalFlags.map((flag) => {
      const short = flag.short === undefined ? '' : `-${flag.short}, `
      const value = flag.choices?.join('|') ?? flag.value
      return [`${short}--${flag.name}${value === undefined ? '' : ` ${value}`}`, flag.about]
    }),
    page,
  )
}
