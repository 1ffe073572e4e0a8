import { AwError } from '../errors.ts'

const units: Readonly<Record<string, number>> = { M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 }

/** `500M`, `20G`, `1T` in bytes. */
export function parseSize(text: string, field: string): number {
  const [, amount, unit] = /^(\d{1,6})([MGT])(?:i?B)?$/i.exec(text) ?? []
  const bytes = Number(amount) * (units[unit?.toUpperCase() ?? ''] ?? 0)
  if (amount !== undefined && Number.isSafeInteger(bytes) && bytes > 0) return bytes
  throw new AwError('invalid_input', `${field} is ${JSON.stringify(text)}, which is not a size`, {
    hint: 'Write a whole number and a unit: 500M, 20G, 1T',
    data: { field },
  })
}

/** As one writes it: the largest unit that says it with at most one decimal. */
export function sizeText(bytes: number): string {
  const [unit, size]: readonly [string, number] =
    bytes >= 2 ** 40 ? ['TiB', 2 ** 40] : bytes >= 2 ** 30 ? ['GiB', 2 ** 30] : ['MiB', 2 ** 20]
  return `${Number((bytes / size).toFixed(1))} ${unit}`
}
