/**
 * Whether a path that a box asks a broker for stays below the broker's own, whoever reads it: a server may decode it once
 * or more, take `\` for `/`, drop empty names or what follows `;`. It stays if it does for all of these readers.
 */
export function staysBelow(path: string): boolean {
  let text = path
  for (let round = 0; round < maxRounds; round++) {
    if (!staysAsRead(text)) return false
    const decoded = decode(text)
    if (decoded === text) return true
    text = decoded
  }
  return false
}

const maxRounds = 4

function staysAsRead(text: string): boolean {
  // Two slashes at the beginning are a host to some.
  if (/^[/\\]{2}/.test(text) || text.split('').some(isOdd)) return false
  return neverLeaves(text.split('/')) && neverLeaves(text.split(/[/\\]/))
}

/** Control characters, and the bytes that no UTF-8 has: they are dropped, or taken for others, by some. */
const isOdd = (char: string): boolean => char < ' ' || ['\u007f', '\u00c0', '\u00c1'].includes(char)

function neverLeaves(names: readonly string[]): boolean {
  let depth = 0
  return names.every((name) => {
    const plain = name.split(';', 1)[0] ?? ''
    if (plain === '..') depth -= 1
    else if (plain !== '' && plain !== '.') depth += 1
    return depth >= 0
  })
}

const decode = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
