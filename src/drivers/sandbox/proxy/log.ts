import { fstatSync, writeSync } from 'node:fs'
import type { Reason } from './reasons.ts'

/**
 * One line of the log. A request has one, when it is over; if it got through, another one before that, when it was
 * connected (`reason: open`, the same `id` and `time`), so that it is known whatever ends the proxy. Nothing of what was
 * sent is in it, neither path nor headers.
 */
export interface LogEntry {
  readonly id: number
  /** When it began, ISO 8601. */
  readonly time: string
  readonly method: string | null
  readonly host: string | null
  readonly port: number | null
  /** Where it was connected to. */
  readonly address: string | null
  /** `failed`: it was allowed, and something else was in the way. */
  readonly verdict: 'allowed' | 'refused' | 'failed'
  readonly reason: Reason | 'open' | 'client_gone' | 'idle' | 'stopped' | null
  /** Bytes to the host and from it. */
  readonly up: number
  readonly down: number
  readonly ms: number
}

export interface RequestLog {
  /** True when not even the requests under way could all be written any more: then nothing new may begin. */
  isFull(): boolean
  /**
   * `soon` if it is better put aside before it is full, `now` if it is full, or in nobody's reach any more. A file that
   * cannot be written is not helped by another one.
   */
  toBePutAside(): 'soon' | 'now' | undefined
  write(entry: LogEntry): void
}

/**
 * Appends to an open file. Nothing passes unseen: when the file is as large as it may be, or cannot be written, that is
 * its last line and `isFull` says so, until there is room.
 * @param pending how many requests may be under way, for which room is kept
 */
export function openLog(fd: number, maxBytes: number, pending: number): RequestLog {
  const room = maxBytes - (2 * pending + 1) * longestLine
  let saidFull = false
  let broken = false
  let torn = false

  /** A line that was cut off by a full disk is ended first, so that the next one can be read. */
  const append = (line: string): void => {
    const text = Buffer.from(`${torn ? '\n' : ''}${line}\n`, 'latin1')
    try {
      torn = writeSync(fd, text) < text.length
      broken = torn
    } catch {
      broken = true
    }
  }

  const isFull = (): boolean => {
    if (broken) append(JSON.stringify({ time: new Date().toISOString(), event: 'log_resumed' }))
    const { size, nlink } = fstatSync(fd)
    const full = size > room || nlink === 0
    if (full && !saidFull) append(JSON.stringify({ time: new Date().toISOString(), event: 'log_full' }))
    saidFull = full
    return full || broken
  }

  const toBePutAside = (): 'soon' | 'now' | undefined => {
    const { size, nlink } = fstatSync(fd)
    if (size > room || nlink === 0) return 'now'
    return size > (maxBytes * 3) / 4 ? 'soon' : undefined
  }

  // To write that it was full, again and again, would be the way to make it larger.
  return { isFull, toBePutAside, write: (entry) => entry.reason === 'log_full' || append(lineOf(entry)) }
}

/** Host and method are the only texts of others in it, and both are short. */
const longestLine = 1024

/** Plain ASCII on one line, whatever it holds: nothing in it can end the line or speak to a terminal. */
const lineOf = (entry: LogEntry): string =>
  JSON.stringify(entry).replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
