import { AwError } from './errors.ts'

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** `90s`, `12h`, `7d` in milliseconds. */
export function parseDuration(text: string, field: string): number {
  const [, amount, unit] = /^(\d{1,9})(ms|s|m|h|d|w)$/.exec(text) ?? []
  if (amount !== undefined && unit !== undefined) return Number(amount) * (units[unit] ?? 1)
  throw new AwError('invalid_input', `${field} is ${JSON.stringify(text)}, which is not a length of time`, {
    hint: 'Write a number and a unit: 90s, 30m, 12h, 7d, 2w',
    data: { field },
  })
}
