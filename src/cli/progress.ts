import type { Progress } from '../ports/manager.ts'
import type { Io } from './io.ts'
import { bytes, count } from './render/units.ts'

/** One line on the terminal that tells how far long work has come, and leaves no trace. */
export interface ProgressLine extends Disposable {
  show(news: Progress): void
  clear(): void
}

const patience = 150
const pace = 80

export function startProgress(io: Io): ProgressLine {
  const begin = io.now()
  let last = 0
  let visible = false
  const write = (text: string): void => void io.stderr.write(text).catch(() => undefined)

  function show(news: Progress): void {
    const now = io.now()
    // Work that is over in a blink needs no line, and a terminal no more than some lines a second.
    if (now - begin < patience || now - last < pace) return
    last = now
    visible = true
    write(`\r\u001b[K${progressText(news).slice(0, Math.max(10, io.stderr.columns - 1))}`)
  }

  function clear(): void {
    if (visible) write('\r\u001b[K')
    visible = false
  }

  return { show, clear, [Symbol.dispose]: clear }
}

function progressText({ phase, files, bytes: size, percent }: Progress): string {
  const parts = [
    percent === undefined ? '' : `${Math.round(percent)}%`,
    files === undefined ? '' : count(files, 'file'),
    size === undefined ? '' : bytes(size),
  ]
  const known = parts.filter((part) => part !== '')
  return known.length === 0 ? `${phase}…` : `${phase}: ${known.join(', ')}`
}
