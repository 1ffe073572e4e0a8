import type { Outputs } from '../../api/table.ts'
import { columns, pairsOf, type Row } from './columns.ts'
import type { Shown, View } from './view.ts'

export function agents(all: Outputs['agents list'], view: View): Shown {
  if (view.quiet) return { out: all.map(({ name }) => name).join('\n') }
  const head: Row = ['NAME', 'TITLE', 'PROGRAM', 'CREDENTIAL']
  const rows = all.map(({ name, title, program, problem, credential }): Row => [
    { text: name, paint: view.paint.bold },
    title,
    problem === null ? (program ?? '-') : { text: problem, paint: view.paint.yellow },
    { text: credential ?? '-', paint: view.paint.dim },
  ])
  return { out: columns(head, rows, view), note: 'Try one in a sandbox: aw agents test NAME' }
}

type Shape = Outputs['agents show']

/** As it is written in a file: what is more than a text as JSON. */
const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export function agent(one: Shape, view: View): Shown {
  const { problem, reads } = one
  const about: [string, string][] = [
    ['program', one.program ?? '-'],
    ...(one.runtime === null ? [] : [['run by', one.runtime] as [string, string]]),
    ...reads.map((path): [string, string] => ['reads', path]),
    ['credential', one.credential ?? 'none is there'],
    ['from', one.file ?? 'built in'],
  ]
  const fields = Object.entries(one.profile).map(([key, value]): [string, string] => [key, plain(value)])
  return {
    out: pairsOf([...fields, ...about], view),
    ...(problem === null
      ? {}
      : { warning: [problem.message, problem.hint].filter((part) => part !== null).join('; ') }),
  }
}
