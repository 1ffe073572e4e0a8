import { setTimeout as sleep } from 'node:timers/promises'
import type { Inputs } from '../../api/table.ts'
import type { Door } from '../call.ts'
import { paint, wantsColor } from '../color.ts'
import { placeOf } from '../connect.ts'
import { inputsOf } from '../input.ts'
import { status } from '../render/status.ts'

const clearScreen = '\u001B[H\u001B[2J'
const pace = 1000

/** `aw status`: once where nobody looks at it, else again and again until Ctrl-C. */
export const statusDoor: Door = async (operation, given, globals, io) => {
  const fields = new Map(given.fields)
  const once = fields.get('once')?.[0] === 'true'
  fields.delete('once')
  const [first] = await inputsOf(operation, { ...given, fields }, io)
  const input = first as Inputs['status']
  await using manager = await io.connect(placeOf(globals, io))
  const isLive = io.stdout.isTerminal && !globals.json && !globals.quiet && !once
  const show = async (): Promise<void> => {
    const found = await manager.call('status', input, { signal: io.signal })
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
    if (isLive) await io.stdout.write(`${clearScreen}${screenful(String(out), io.terminal.size().rows)}\n`)
    else if (out !== '') await io.stdout.write(`${String(out)}\n`)
  }
  await show()
  while (!io.signal.aborted) {
    if (!isLive) break
    await sleep(pace, undefined, { signal: io.signal }).catch(() => undefined)
    if (!io.signal.aborted) await show()
  }
  return 0
}

/** The head, and as much of the end as there is room for: what changed last is there. */
function screenful(text: string, rows: number): string {
  const all = [...text.split('\n'), 'Ctrl-C ends this view; what runs goes on']
  const [head = '', ...rest] = all
  if (all.length < rows) return all.join('\n')
  const shown = rest.slice(rest.length - Math.max(1, rows - 3))
  return [head, `… ${rest.length - shown.length} more above: aw status --once`, ...shown].join('\n')
}
