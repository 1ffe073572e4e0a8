import { visible } from '../domain/text/visible.ts'

type LogRecord = Readonly<Record<string, unknown>>

export type Log = (record: LogRecord) => void

interface Options {
  readonly to: NodeJS.WritableStream
  /** A few words for people, or JSON for programs. */
  readonly form: 'words' | 'json'
}

/** Writes one line a record. That nobody reads them any more stops nothing. */
export function daemonLog({ to, form }: Options): Log {
  to.on('error', () => undefined)
  const lineOf = form === 'words' ? words : json
  return (record) => void to.write(`${lineOf(new Date().toISOString(), record)}\n`)
}

const json = (at: string, record: LogRecord): string => JSON.stringify({ at, ...record })

const words = (at: string, record: LogRecord): string =>
  [at.slice(11, 23), ...Object.entries(record).map(([key, value]) => `${key}=${visible(String(value))}`)].join(' ')
