import { setTimeout as sleep } from 'node:timers/promises'
import type { Inputs } from '../../api/table.ts'
import type { DaemonFacts } from '../../domain/daemon.ts'
import type { OperationHandler } from '../call.ts'
import { paint, wantsColor } from '../output/color.ts'
import { connectOptions, daemonOf } from '../connect.ts'
import { inputsOf } from '../input/input.ts'
import type { Io } from '../io.ts'
import { status } from '../render/workspaces/status.ts'

const clearScreen = '\u001B[H\u001B[2J'
const pace = 1000

/** `aw status`: once where nobody looks at it, else again and again until `q` or Ctrl-C. */
export const statusHandler: OperationHandler = async (operation, given, globals, io) => {
  const fields = new Map(given.fields)
  const once = fields.get('once')?.[0] === 'true'
  fields.delete('once')
  const [first] = await inputsOf(operation, { ...given, fields }, io)
  const input = first as Inputs['status']
  const place = connectOptions(globals, io)
  await using manager = await io.connect(place)
  const isLive = io.stdout.isTerminal && !globals.json && !globals.quiet && !once
  const left = new AbortController()
  const signal = AbortSignal.any([io.signal, left.signal])
  const hasKeys = isLive && io.stdinIsTerminal
  using _ = hasKeys ? await io.terminal.raw() : undefined
  if (hasKeys) void untilQuit(io, left)
  const show = async (): Promise<void> => {
    const found = await manager.call('status', input, { signal })
    if (globals.json) return io.stdout.write(`${JSON.stringify(found)}\n`)
    const view = {
      paint: paint(wantsColor(io.stdout.isTerminal, io.env, globals.noColor)),
      terminal: io.stdout.isTerminal,
      columns: io.stdout.isTerminal ? io.stdout.columns : Infinity,
      quiet: globals.quiet,
      now: io.now(),
      input: { ...input },
      told: new Set<string>(),
    }
    const { out } = status(found, view)
    const daemon = io.stdout.isTerminal ? await daemonOf(place) : undefined
    const all = [String(out), ...(daemon === undefined ? [] : [view.paint.dim(daemonText(daemon))])].join('\n')
    const shown = isLive ? `${clearScreen}${screenful(all, io.terminal.size().rows, hasKeys)}\n` : ''
    if (isLive) await io.stdout.write(hasKeys ? shown.replaceAll('\n', '\r\n') : shown)
    else if (all !== '') await io.stdout.write(`${all}\n`)
  }
  try {
    await show()
    while (!signal.aborted) {
      if (!isLive) break
      await sleep(pace, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) await show()
    }
  } catch (error) {
    // Whoever leaves does not wait for an answer.
    if (!left.signal.aborted) throw error
  }
  return 0
}

const daemonText = ({ pid, listen }: DaemonFacts): string =>
  `A daemon runs, process ${pid}${listen === null ? '' : `, at ${listen}`}: see aw serve --status`

/** The keys come as they are: Ctrl-C is one of them. */
async function untilQuit(io: Io, left: AbortController): Promise<void> {
  for await (const chunk of io.input()) if (chunk.some((key) => quitKeys.includes(key))) return left.abort()
}

const quitKeys: readonly number[] = [...Buffer.from('qQ\u0003\u0004')]

/** The head, and as much of the end as there is room for: what changed last is there. */
function screenful(text: string, rows: number, hasKeys: boolean): string {
  const all = [...text.split('\n'), `${hasKeys ? 'q' : 'Ctrl-C'} ends this view; what runs goes on`]
  const [head = '', ...rest] = all
  if (all.length < rows) return all.join('\n')
  const shown = rest.slice(rest.length - Math.max(1, rows - 3))
  return [head, `… ${rest.length - shown.length} more above: aw status --once`, ...shown].join('\n')
}
