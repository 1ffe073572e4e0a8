import { paint, wantsColor } from '../output/color.ts'
import { visible } from '../../domain/text/visible.ts'
import type { Ended } from './exit-code.ts'
import type { ExecInput, Session } from './run-command.ts'

/** What its exit code does not tell: why `aw`, or the kernel for it, ended a command or left something out. */
export async function exitNotes(session: Session, input: ExecInput, ended: Ended, written: number): Promise<string[]> {
  const { timed_out: late, output_cut: cut, duration_ms: ms, signal, code } = ended
  const notes: string[] = []
  if (late) notes.push(`timed out: it was ended after ${(ms / 1000).toFixed(1)} s`)
  else if (signal === 'SIGKILL' || code === exitCodeOfKilled) notes.push(...(await outOfMemory(session, input, signal)))
  if (cut) notes.push(`output cut: what came after ${written} bytes was thrown away; --output-mb allows more`)
  return notes
}

/** What a shell answers with when something that it ran was killed. */
const exitCodeOfKilled = 137

async function outOfMemory(session: Session, input: ExecInput, signal: string | null): Promise<string[]> {
  const mb = await memoryOf(session, input).catch(() => 0)
  if (mb === 0) return []
  const what = signal === null ? `exit ${exitCodeOfKilled}, as after SIGKILL` : `ended by ${signal}`
  return [`${what}; perhaps it needed more than --memory-mb ${mb}`]
}

/** In MB; 0 for no limit. */
async function memoryOf({ manager }: Session, { id, memory_mb: asked }: ExecInput): Promise<number> {
  if (asked !== undefined) return asked
  const { sandbox } = id === undefined ? { sandbox: null } : await manager.call('show', { id })
  if (sandbox?.memory_mb !== undefined) return sandbox.memory_mb
  const { settings } = await manager.call('config show', {})
  return Number(settings.find(({ key }) => key === 'sandbox.memory_mb')?.value ?? 0)
}

/** One line each on standard error, wherever that goes: whoever reads the log of a script has to know, too. */
export async function printNotes({ io, globals }: Session, notes: readonly string[], of = ''): Promise<void> {
  if (globals.quiet || globals.json) return
  const { dim } = paint(wantsColor(io.stderr.isTerminal, io.env, globals.noColor))
  for (const note of notes) await io.stderr.write(`${dim(`aw: ${of}${visible(note)}`)}\n`)
}
