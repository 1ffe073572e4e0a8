import type { RunId } from '../../domain/ids.ts'
import type { LogItem } from '../../ports/kept-logs.ts'
import type { Core, Request } from '../core.ts'

const lineFeed = 10
const guess = 64 * 1024

/** The last lines of a log, whichever stream they are of, and where it goes on. */
export async function lastLines(
  core: Core,
  request: Request,
  run: RunId,
  lines: number,
): Promise<{ items: readonly LogItem[]; next: number }> {
  for (let bytes = guess; ; bytes *= 4) {
    const items: LogItem[] = []
    let [size, ends] = [0, 0]
    for await (const item of core.logs.read(run, { last: bytes, signal: request.signal })) {
      items.push(item)
      size += item.data.length
      ends += item.data.reduce((sum, byte) => (byte === lineFeed ? sum + 1 : sum), 0)
    }
    // One more, as the last one ends with its line.
    if (ends > lines || size < bytes) return { items: cut(items, lines), next: items.at(-1)?.next ?? 0 }
  }
}

function cut(items: readonly LogItem[], lines: number): LogItem[] {
  const kept: LogItem[] = []
  let left = lines
  let isLast = true
  for (const item of items.toReversed()) {
    for (let at = item.data.length - 1; at >= 0; at--) {
      if (item.data[at] === lineFeed && !isLast) left -= 1
      isLast = false
      if (left === 0) return [{ ...item, data: item.data.subarray(at + 1) }, ...kept]
    }
    kept.unshift(item)
  }
  return kept
}
