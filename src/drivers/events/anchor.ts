import type { Checkpoint } from '../../ports/event-store.ts'

/** The anchor: a text file with one line of JSON for each checkpoint, in order. Meant to be copied elsewhere. */

const anchorLine = ({ number, at, position, events, hash }: Checkpoint): string =>
  `${JSON.stringify({ number, at, position, events, hash })}\n`

/**
 * What must be appended to the anchor so that it ends with the last checkpoint. After a crash its last line can be
 * missing or torn. An anchor that is not a beginning of what it should be was edited: it is left as it is, for `verify`
 * to tell, and only goes on with the last checkpoint.
 */
export function anchorRest(text: string, checkpoints: readonly Checkpoint[]): string {
  const last = checkpoints.at(-1)
  if (last === undefined || text.endsWith(anchorLine(last))) return ''
  const whole = checkpoints.map(anchorLine).join('')
  if (whole.startsWith(text)) return whole.slice(text.length)
  return `${text.endsWith('\n') ? '' : '\n'}${anchorLine(last)}`
}

/** How the anchor and the checkpoints differ, one sentence for each difference. */
export function anchorDifferences(text: string, checkpoints: readonly Checkpoint[]): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  const expected = new Map(checkpoints.map((checkpoint) => [anchorLine(checkpoint).trimEnd(), checkpoint.number]))
  const found = new Set(lines)
  const unknown = lines.filter((line) => !expected.has(line)).map((line) => `The log has no such checkpoint: ${line}`)
  const absent = [...expected].filter(([line]) => !found.has(line))
  return [...unknown, ...absent.map(([, number]) => `Checkpoint ${number} is not in the anchor`)]
}
