import type { Progress } from '../../ports/manager.ts'
import type { Io } from '../io.ts'
import { bytes, count } from '../render/units.ts'
import { visible } from '../../domain/text/visible.ts'

/** One line on the terminal that tells how far long work has come, and leaves no trace. */
export interface ProgressLine extends Disposable {
  show(news: Progress): void
  clear(): void
}

const patience = 150
const pace = 80
/** Whoever reads no more is told no more: nobody waits for him, and nothing is kept for ever. */
const maxUnread = 1024 * 1024

/** Undefined where nobody would see it. */
export const progressLine = (io: Io, quiet: boolean): ProgressLine | undefined =>
  quiet || !io.stderr.isTerminal ? undefined : startProgress(io)

function startProgress(io: Io): ProgressLine {
  const begin = io.now()
  let last = 0
  let isShown = false
  let unended = ''
  let decoder: InstanceType<typeof TextDecoder> | undefined
  let waiting: { news: Progress; timer: NodeJS.Timeout } | undefined
  let unread = 0
  const write = (text: string): void => {
    if (unread > maxUnread) return
    unread += text.length
    const taken = (): unknown => (unread -= text.length)
    void io.stderr.write(text).then(taken, taken)
  }

  function show(news: Progress): void {
    if (news.output !== undefined) return pass(news.output)
    const now = io.now()
    // Work that is over in a blink needs no line, and a terminal no more than some lines a second.
    const early = Math.max(begin + patience - now, last + pace - now)
    if (early > 0) return keep(news, early)
    forget()
    print(news)
  }

  /** Whole lines stay; the rest of one waits for its end. */
  function pass(output: Uint8Array): void {
    const lines = (unended + (decoder ??= new TextDecoder()).decode(output, { stream: true })).split(/[\r\n]+/)
    unended = lines.pop() ?? ''
    if (lines.length === 0) return
    clearLine()
    write(lines.map((line) => `${visible(line)}\n`).join(''))
  }

  /** The last news is told when its time has come: perhaps nothing follows it for minutes. */
  function keep(news: Progress, ms: number): void {
    if (waiting !== undefined) {
      waiting.news = news
      return
    }
    const timer = setTimeout(() => {
      const due = waiting?.news ?? news
      waiting = undefined
      print(due)
    }, ms)
    waiting = { news, timer: timer.unref() }
  }

  function forget(): void {
    clearTimeout(waiting?.timer)
    waiting = undefined
  }

  function print(news: Progress): void {
    last = io.now()
    isShown = true
    write(`\r\u001b[K${progressText(news).slice(0, Math.max(10, io.stderr.columns - 1))}`)
  }

  function clearLine(): void {
    forget()
    if (isShown) write('\r\u001b[K')
    isShown = false
  }

  function clear(): void {
    clearLine()
    if (unended !== '') write(`${visible(unended)}\n`)
    unended = ''
  }

  return { show, clear, [Symbol.dispose]: clear }
}

function progressText({ phase, files, bytes: size, percent, command }: Progress): string {
  const parts = [
    command === undefined ? '' : visible(command),
    percent === undefined ? '' : `${Math.round(percent)}%`,
    files === undefined ? '' : count(files, 'file'),
    size === undefined ? '' : bytes(size),
  ]
  const known = parts.filter((part) => part !== '')
  return known.length === 0 ? `${phase}…` : `${phase}: ${known.join(', ')}`
}
