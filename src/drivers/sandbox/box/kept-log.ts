import { closeSync, openSync, readdirSync, readFileSync, readSync, watch } from 'node:fs'
import { join } from 'node:path'
import { decodeTags, numberTag } from './frames.ts'
import { readExit } from './job.ts'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import type { LogItem, ReadOptions, KeptEnd } from '../../../ports/kept-logs.ts'

/**
 * Reads what the supervisor of a sandbox keeps of a command: see "Kept commands" in docs/spec/box-protocol.md. The bytes
 * come from a program that nobody trusts; the frame around them is the supervisor's.
 */

const headBytes = 13
const nothing = new Uint8Array(0)
const maxAtOnce = 1 << 20
/** Whoever waits for more looks again after so long, should nobody tell. */
const lookAgainMs = 500

/** How the command ended, if it has. */
export function readKeptEnd(directory: string): KeptEnd | undefined {
  const bytes = ignoreErrors(['ENOENT', 'ENOTDIR'], () => readFileSync(join(directory, 'end')))
  if (bytes === undefined) return undefined
  const tags = decodeTags(bytes)
  const at = new Date(numberTag(tags, 'e'))
  const lost = tags.has('l') ? numberTag(tags, 'l') : 0
  if (tags.has('E')) return { exit: null, errno: numberTag(tags, 'E'), lost, at }
  return { exit: readExit(bytes), errno: null, lost, at }
}

/** The log, from a position on. */
export async function* readKeptLog(directory: string, options: ReadOptions = {}): AsyncGenerator<LogItem> {
  const { follow, signal } = options
  using news = follow === undefined ? undefined : watched(directory)
  let position = options.last === undefined ? (options.from ?? 0) : startOf(directory, options.last)
  for (;;) {
    signal?.throwIfAborted()
    // What is written before the end is there when the end is.
    const end = readKeptEnd(directory)
    const over = end !== undefined || follow === undefined || (await follow.isOver())
    let found = false
    for (const item of itemsFrom(directory, position)) {
      position = item.next
      found = true
      yield item
      signal?.throwIfAborted()
    }
    if (over && !found) {
      if (end !== undefined && end.lost > 0)
        yield { stream: 'lost', data: nothing, lost: end.lost, at: end.at, next: position }
      return
    }
    if (!over) await news?.wait(signal)
  }
}

interface Piece {
  readonly start: number
  readonly name: string
}

function piecesOf(directory: string): Piece[] {
  const names = ignoreErrors(['ENOENT', 'ENOTDIR'], () => readdirSync(directory)) ?? []
  const pieces = names.filter((name) => /^\d{20}\.log$/.test(name)).toSorted()
  return pieces.map((name) => ({ name, start: Number.parseInt(name, 10) }))
}

/** Whole pieces at the end that hold so much together. */
function startOf(directory: string, bytes: number): number {
  const pieces = piecesOf(directory)
  const end = pieces.reduce((_, { start, name }) => start + sizeOf(join(directory, name)), 0)
  return pieces.findLast(({ start }) => end - start >= bytes)?.start ?? pieces[0]?.start ?? 0
}

const sizeOf = (file: string): number => ignoreErrors(['ENOENT'], () => readFileSync(file).length) ?? 0

/** All that is whole, piece after piece. What vanished before it was read is told as lost. */
function* itemsFrom(directory: string, from: number): Generator<LogItem> {
  let position = from
  for (const piece of piecesOf(directory)) {
    if (piece.start > position) {
      const lost = piece.start - position
      position = piece.start
      yield { stream: 'lost', data: nothing, lost, at: undefined, next: position }
    }
    const file = ignoreErrors(['ENOENT'], () => openSync(join(directory, piece.name), 'r'))
    if (file === undefined) continue
    try {
      for (const item of recordsOf(file, piece.start, position)) {
        position = item.next
        yield item
      }
    } finally {
      closeSync(file)
    }
  }
}

const streams = { 1: 'stdout', 2: 'stderr', 3: 'lost' } as const

function* recordsOf(file: number, start: number, from: number): Generator<LogItem> {
  let position = from
  const buffer = Buffer.alloc(maxAtOnce)
  for (;;) {
    const count = readSync(file, buffer, 0, buffer.length, position - start)
    let at = 0
    while (at + headBytes <= count) {
      const size = buffer.readUInt32LE(at + 9)
      if (at + headBytes + size > count) break
      const stream = streams[buffer.readUInt8(at) as keyof typeof streams]
      const data = Buffer.from(buffer.subarray(at + headBytes, at + headBytes + size))
      const time = new Date(Number(buffer.readBigUInt64LE(at + 1)))
      position += headBytes + size
      at += headBytes + size
      if (stream === 'lost') {
        yield { stream, data: nothing, lost: Number(data.readBigUInt64LE(0)), at: time, next: position }
      } else yield { stream, data, at: time, next: position }
    }
    if (at === 0) return
  }
}

/** Tells of changes in a directory, those too that came between two waits. */
function watched(directory: string): Disposable & { wait(signal: AbortSignal | undefined): Promise<void> } {
  let changed = false
  let wake: (() => void) | undefined
  // It need not be there yet, and the kernel watches only so much at once: then looking again has to do.
  const watcher = ignoreErrors(['ENOENT', 'ENOSPC', 'EMFILE'], () =>
    watch(directory, () => {
      changed = true
      wake?.()
    }),
  )
  watcher?.on('error', () => undefined)
  return {
    async wait(signal) {
      if (!changed) {
        await new Promise<void>((resolve) => {
          const late = setTimeout(resolve, lookAgainMs)
          const stop = (): void => wake?.()
          wake = () => {
            clearTimeout(late)
            signal?.removeEventListener('abort', stop)
            resolve()
          }
          signal?.addEventListener('abort', stop, { once: true })
        })
      }
      changed = false
    },
    [Symbol.dispose]() {
      watcher?.close()
    },
  }
}
