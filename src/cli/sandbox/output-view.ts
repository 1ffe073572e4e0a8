import { paint, wantsColor } from '../output/color.ts'
import { bytesOf, jsonLine, type Session } from './run-command.ts'
import { wholeLines } from './whole-lines.ts'

type Stream = 'stdout' | 'stderr'

/** What is told of something that runs. */
interface Item {
  readonly type: string
  readonly workspace: string
  readonly data?: Uint8Array | string | undefined
  readonly lost?: number | undefined
}

export type OutputView = (item: Item) => Promise<void>

/** Each item as a line. */
export const jsonView =
  ({ io }: Session): OutputView =>
  (item) =>
    io.stdout.flow(Buffer.from(jsonLine(item)))

/** For those who read the output of a run: there was more. */
export const lostOutputText = (bytes: number | undefined): string =>
  `aw: ${bytes} bytes of the output are missing here: more than runs.log_mb is not kept, nor what the disk has no room for\n`

/** What it writes, byte for byte. */
export const rawView =
  ({ io }: Session): OutputView =>
  async (item) => {
    if (item.type === 'stdout' || item.type === 'stderr') await io[item.type].flow(bytesOf(item))
    if (item.type === 'lost') await io.stderr.write(lostOutputText(item.lost))
  }

/** Of several at once: whole lines, and each tells whose it is. */
export function prefixedLinesView({ io, globals }: Session): OutputView {
  const lines = wholeLines()
  const write = async (workspace: string, stream: Stream, whole: readonly Uint8Array[]): Promise<void> => {
    if (whole.length === 0) return
    const { isTerminal } = io[stream]
    const name = paint(wantsColor(isTerminal, io.env, globals.noColor)).cyan(workspace)
    const label = Buffer.from(`${name}${isTerminal ? '  ' : '\t'}`)
    await io[stream].flow(Buffer.concat(whole.flatMap((line) => [label, line, Buffer.from('\n')])))
  }
  return async (item) => {
    const { type, workspace } = item
    if (type === 'stdout' || type === 'stderr')
      await write(workspace, type, lines.take(`${type} ${workspace}`, bytesOf(item)))
    if (type === 'lost') await write(workspace, 'stderr', [Buffer.from(lostOutputText(item.lost).trimEnd())])
    if (type !== 'exit' && type !== 'failed' && type !== 'ended') return
    for (const stream of ['stdout', 'stderr'] as const)
      await write(workspace, stream, lines.rest(`${stream} ${workspace}`))
  }
}
