import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import { columns, type Cell, type Row } from '../columns.ts'
import { age, bytes, count } from '../units.ts'
import { wallsOf } from './workspace.ts'
import type { Rendered, View } from '../view.ts'

export function started({ workspace_id: name, sandbox }: Outputs['start'], view: View): Rendered {
  if (view.quiet || sandbox === null) return { out: '' }
  const { notes = [] } = sandbox
  return {
    out: `${name} is started: ${wallsOf(sandbox)}`,
    note: `Run something in it: aw exec ${name} -- COMMAND`,
    ...(notes.length > 0 && { warning: notes.map((text) => `${name}: ${visible(text)}`).join('\naw: ') }),
    named: true,
  }
}

export const stopped = ({ workspace_id: name, stopped: ended }: Outputs['stop'], view: View): Rendered => ({
  out: view.quiet ? '' : ended === false ? `${name} has no sandbox` : `${name} is stopped`,
  named: true,
})

/** The values are nobody's business. */
export function variables(all: Outputs['env list'], view: View): Rendered {
  if (all.length === 0) return { out: '', note: 'It has no variables' }
  if (view.quiet) return { out: all.map(({ name }) => name).join('\n') }
  const rows = all.map(({ name, secret }): Row => [
    { text: name, paint: view.paint.bold },
    { text: secret ? `secret, as a file: ${name}_FILE` : 'plain', paint: view.paint.dim },
  ])
  return { out: columns(['NAME', 'KIND'], rows, view) }
}

type Command = Outputs['history'][number]

export function history(commands: Outputs['history'], view: View): Rendered {
  if (commands.length === 0) return { out: '', note: 'No command has run in it yet' }
  const head: Row = ['WHEN', 'EXIT', { text: 'MS', right: true }, { text: 'CHANGED', right: true }, 'COMMAND']
  const rows = commands.map((command): Row => {
    const { started_at: at, exit, files_changed: changed } = command
    return [
      { text: view.terminal ? age(at, view.now) : at, paint: view.paint.dim },
      endCell(command, view),
      { text: exit === null ? '-' : String(Math.round(exit.duration_ms ?? 0)), right: true },
      { text: changed === null ? '-' : String(changed), right: true },
      { text: lineOf(command), paint: view.paint.bold },
    ]
  })
  const running = commands.filter(({ state }) => state === 'running').length
  return { out: columns(head, rows, view), ...(running > 0 && { note: `${count(running, 'command')} running` }) }
}

function endCell({ state, exit, problem }: Command, { paint }: View): Cell {
  if (state === 'running') return { text: 'running', paint: paint.cyan }
  if (exit === null || problem?.code === 'aborted') return { text: problem?.code ?? 'failed', paint: paint.red }
  const text = exit.timed_out === true ? 'timed out' : (exit.signal ?? String(exit.code ?? '-'))
  return { text, paint: text === '0' ? paint.green : paint.red }
}

/** As one would type it. */
export const lineOf = ({ argv, argv_cut: cut }: Pick<Command, 'argv' | 'argv_cut'>): string =>
  [...argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))), ...(cut ? ['…'] : [])].join(' ')

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`

/** What was refused stands out: somebody has to decide whether that was right. */
export function requests(all: Outputs['requests'], view: View): Rendered {
  if (all.length === 0) return { out: '', note: 'Nothing was asked of the network' }
  const right = (text: string): Cell => ({ text, right: true })
  const head: Row = ['WHEN', 'VERDICT', right('UP'), right('DOWN'), right('MS'), 'WHAT']
  const size = (amount: number): Cell => right(view.terminal ? bytes(amount) : String(amount))
  const rows = all.map((request): Row => {
    const { time, verdict, up, down, ms } = request
    return [
      { text: view.terminal ? age(time, view.now) : time, paint: view.paint.dim },
      { text: verdict, paint: verdict === 'allowed' ? view.paint.green : view.paint.red },
      size(up),
      size(down),
      right(String(ms)),
      askedOf(request),
    ]
  })
  return { out: columns(head, rows, view) }
}

const askedOf = ({ method, host, port, reason }: Outputs['requests'][number]): string =>
  [method ?? '-', `${host ?? '-'}${port === null ? '' : `:${port}`}`, ...(reason === null ? [] : [`(${reason})`])].join(
    ' ',
  )
