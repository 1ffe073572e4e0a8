/** 1536 → `1.5 KiB` */
export function bytes(amount: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let value = amount
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** `2 files`, `1 file` */
export const count = (amount: number, one: string, many = `${one}s`): string => `${amount} ${amount === 1 ? one : many}`

/** How long ago: `now`, `5m`, `3h`, `12d`, `2y`. */
export function age(since: string, now: number): string {
  const seconds = Math.floor((now - Date.parse(since)) / 1000)
  if (Number.isNaN(seconds)) return '?'
  if (seconds < 5) return 'now'
  for (const [unit, size, limit] of steps) if (seconds < limit) return `${Math.floor(seconds / size)}${unit}`
  return `${Math.floor(seconds / 31_536_000)}y`
}

/** How long it still is: `5m`, `3h`, `12d`; `over` when it is not. */
export function timeLeft(until: string, now: number): string {
  const left = Date.parse(until) - now
  // What was 12h a moment ago is not 11h yet.
  const told = Math.max(left + Math.min(left / 100, 30_000), 5000)
  return left <= 0 ? 'over' : age(new Date(now - told).toISOString(), now)
}

const steps: readonly (readonly [string, number, number])[] = [
  ['s', 1, 60],
  ['m', 60, 3600],
  ['h', 3600, 172_800],
  ['d', 86_400, 31_536_000 * 2],
]

/** So much of a base's name as `aw bases remove` needs to know which; that of a template is short and says what it is. */
export function shortBase(base: string, all: readonly { readonly name: string }[]): string {
  const short = base.slice(0, 12)
  const isOnly = all.filter(({ name }) => name.startsWith(short)).length === 1
  return isOnly && !base.startsWith('template-') ? short : base
}
