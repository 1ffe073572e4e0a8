import { AwError } from '../errors.ts'

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** What is longer is meant for ever, and no date can tell it. */
const longest = 100 * 365 * 86_400_000

/** `90s`, `12h`, `7d` in milliseconds. */
export function parseDuration(text: string, field: string): number {
  const [, amount, unit] = /^(\d{1,9})(ms|s|m|h|d|w)$/.exec(text) ?? []
  if (amount !== undefined && unit !== undefined) return Math.min(Number(amount) * (units[unit] ?? 1), longest)
  throw new AwError('invalid_input', `${field} is ${JSON.stringify(text)}, which is not a length of time`, {
    hint: 'Write a number and a unit: 90s, 30m, 12h, 7d, 2w',
    data: { field },
  })
}

/** About how long that is, in words: `3 days`, `36 hours`, `20 seconds`. */
export function durationText(ms: number): string {
  const [name, size] = spans.find(([, least]) => ms >= 2 * least) ?? ['second', 1000]
  const amount = Math.max(0, Math.floor(ms / size))
  return `${amount} ${name}${amount === 1 ? '' : 's'}`
}

const spans: readonly (readonly [string, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]
