import type { Outputs } from '../../../api/table.ts'
import { columns, pairsOf, type Row } from '../columns.ts'
import type { Rendered, View } from '../view.ts'

export function agents(all: Outputs['agents list'], view: View): Rendered {
  if (view.quiet) return { out: all.map(({ name }) => name).join('\n') }
  const head: Row = ['NAME', { text: 'TITLE', spare: 1 }, 'KEY', 'PROGRAM']
  const rows = all.map(({ name, title, program, problem, credential }): Row => [
    { text: name, paint: view.paint.bold },
    title,
    credential ?? '-',
    problem === null ? { text: program ?? '-', paint: view.paint.dim } : { text: problem, paint: view.paint.yellow },
  ])
  return { out: columns(head, rows, view), note: 'Try one in a sandbox: aw agents test NAME' }
}

type Shape = Outputs['agents show']

/** As it is written in a file: what is more than a text as JSON, with spaces at which it can be wrapped. */
const plain = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, ' ')

export function agent(one: Shape, view: View): Rendered {
  const { problem, reads } = one
  const about: [string, string][] = [
    ['program', one.program ?? '-'],
    ...(one.runtime === null ? [] : [['run by', one.runtime] as [string, string]]),
    ...reads.map((path): [string, string] => ['can read', path]),
    ['key', one.credential ?? 'none is there'],
    ['profile', one.file ?? 'built in'],
  ]
  const fields = Object.entries(one.profile).map(([key, value]): [string, string] => [key, plain(value)])
  return {
    out: pairsOf([...about, ...fields], view),
    ...(problem === null
      ? {}
      : { warning: [problem.message, problem.hint].filter((part) => part !== null).join('; ') }),
  }
}
