/**
 * An internet address in the one spelling that we use for it: `10.0.0.1`, `2001:db8::1`. An IPv4 address in the clothes of
 * IPv6 (`::ffff:10.0.0.1`) is that IPv4 address, so no rule can be passed by in a disguise.
 */
export interface Address {
  readonly family: 4 | 6
  readonly text: string
  /** Its 4 or 16 bytes. */
  readonly bytes: readonly number[]
}

/** Only the plain spelling of each family; undefined for all else, also for what `inet_aton` takes (`127.1`, `0x7f.1`). */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(':')) return ipv4(text)
  const bytes = ipv6Bytes(text)
  if (bytes === undefined) return undefined
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  return isMapped ? fromIpv4(bytes.slice(12)) : { family: 6, text: ipv6Text(bytes), bytes }
}

function ipv4(text: string): Address | undefined {
  const bytes = ipv4Bytes(text)
  return bytes === undefined ? undefined : fromIpv4(bytes)
}

const fromIpv4 = (bytes: readonly number[]): Address => ({ family: 4, text: bytes.join('.'), bytes })

/** Four decimal numbers without a leading zero: one with it is octal to some readers and decimal to others. */
function ipv4Bytes(text: string): readonly number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))) return undefined
  const bytes = parts.map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

/** A zone (`%eth0`) is not part of an address, and nothing that has one is reached from here. */
function ipv6Bytes(text: string): readonly number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head = '', tail] = halves
  const before = groupBytes(head, tail === undefined)
  const after = groupBytes(tail ?? '', true)
  if (before === undefined || after === undefined) return undefined
  const missing = 16 - before.length - after.length
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined
  return [...before, ...Array.from({ length: missing }, () => 0), ...after]
}

/** Groups of up to four hexadecimal digits; the last of the address may be an IPv4 address. */
function groupBytes(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === '') return []
  const groups = text.split(':')
  const bytes: number[] = []
  for (const [at, group] of groups.entries()) {
    const four = mayEndInIpv4 && at === groups.length - 1 ? ipv4Bytes(group) : undefined
    if (four !== undefined) bytes.push(...four)
    else if (/^[0-9a-f]{1,4}$/i.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255)
    else return undefined
  }
  return bytes
}

/** RFC 5952: lower case, no leading zeros, `::` for the first longest run of two zero groups or more. */
function ipv6Text(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0))
  const run = longestZeros(groups)
  const words = groups.map((group) => group.toString(16))
  if (run.length < 2) return words.join(':')
  return `${words.slice(0, run.start).join(':')}::${words.slice(run.start + run.length).join(':')}`
}

function longestZeros(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 }
  let length = 0
  for (const [at, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0
    if (length > best.length) best = { start: at - length + 1, length }
  }
  return best
}
