import { archiveRefused } from './refusals.ts'

/** Extended headers (POSIX pax): `LENGTH KEY=VALUE` and a line feed, where the length counts itself. All is bytes (latin1). */
export type Records = ReadonlyMap<string, string>

export function encodePax(records: Iterable<readonly [key: string, value: string]>): Buffer {
  const lines: string[] = []
  for (const [key, value] of records) {
    const rest = key.length + value.length + 3
    let length = rest + String(rest).length
    // The length may need a digit more for having been counted.
    if (rest + String(length).length !== length) length += 1
    lines.push(`${length} ${key}=${value}\n`)
  }
  return Buffer.from(lines.join(''), 'latin1')
}

/** Of a key that is there twice the last one counts. */
export function decodePax(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    const blank = bytes.indexOf(0x20, at)
    const digits = blank === -1 || blank - at > 10 ? '' : bytes.toString('latin1', at, blank)
    const end = at + Number(digits)
    if (!/^[1-9][0-9]*$/.test(digits) || end > bytes.length || end < blank + 3 || bytes[end - 1] !== 0x0a)
      throw archiveRefused('extended_header', 'an extended header in it is damaged')
    const record = bytes.toString('latin1', blank + 1, end - 1)
    const equals = record.indexOf('=')
    if (equals < 1) throw archiveRefused('extended_header', 'an extended header in it is damaged')
    records.set(record.slice(0, equals), record.slice(equals + 1))
    at = end
  }
  return records
}

/** Seconds with up to nine digits behind the point, also before 1970. */
export function formatTime(ns: bigint): string {
  const [sign, abs] = ns < 0n ? ['-', -ns] : ['', ns]
  const rest = abs % second
  const fraction = rest === 0n ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`
  return `${sign}${abs / second}${fraction}`
}

export function parseTime(text: string): bigint {
  const [, sign, seconds = '', fraction = ''] = /^(-?)([0-9]{1,19})(?:\.([0-9]*))?$/.exec(text) ?? []
  if (sign === undefined || BigInt(seconds) > maxSeconds) throw archiveRefused('number', 'a time in it is not a number')
  const ns = BigInt(seconds) * second + BigInt(fraction.slice(0, 9).padEnd(9, '0'))
  return sign === '-' ? -ns : ns
}

const second = 1_000_000_000n
/** What a file can have. */
const maxSeconds = 2n ** 63n - 1n

export function parseCount(text: string, what: string): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN
  if (!Number.isSafeInteger(value)) throw archiveRefused('number', `the ${what} in an extended header is not a number`)
  return value
}

const attributePrefix = 'SCHILY.xattr.'

/** Attributes as records, in the order of their names. A name may hold what divides a record. */
export const attributeRecords = (attributes: Records): (readonly [string, string])[] =>
  [...attributes]
    .map(([name, value]) => [attributePrefix + name.replaceAll('%', '%25').replaceAll('=', '%3D'), value] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))

export function attributesIn(records: Records): Map<string, string> {
  const found = new Map<string, string>()
  for (const [key, value] of records) {
    if (!key.startsWith(attributePrefix)) continue
    const name = key.slice(attributePrefix.length).replaceAll('%3D', '=').replaceAll('%25', '%')
    if (name === '' || name.includes('\0')) throw archiveRefused('extended_header', 'an attribute in it has no name')
    found.set(name, value)
  }
  return found
}

/** Whether bytes are text, as the values of an extended header are unless it says otherwise. */
export function isText(bytes: string): boolean {
  // oxlint-disable-next-line no-control-regex -- these are the bytes that are always text
  if (/^[\x00-\x7f]*$/.test(bytes)) return true
  try {
    decoder.decode(Buffer.from(bytes, 'latin1'))
    return true
  } catch {
    return false
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })
