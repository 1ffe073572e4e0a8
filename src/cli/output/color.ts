export interface Paint {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly blue: (text: string) => string
  readonly cyan: (text: string) => string
}

const codes: Readonly<Record<keyof Paint, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
}

/** Painters that do nothing when colours are off, so that callers need not ask. */
export function paint(enabled: boolean): Paint {
  const painter = ([on, off]: readonly [number, number]) =>
    enabled ? (text: string) => (text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`) : (text: string) => text
  return Object.fromEntries(Object.entries(codes).map(([name, pair]) => [name, painter(pair)])) as unknown as Paint
}

/** Colours only on a terminal, unless the user says otherwise: --no-color, FORCE_COLOR, NO_COLOR, TERM=dumb. */
export function wantsColor(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
  noColorFlag = false,
): boolean {
  if (noColorFlag) return false
  const forced = env['FORCE_COLOR']
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false'
  if ((env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false
  return isTerminal
}
