/**
 * Patterns for names and paths as git has them: `*`, `?`, `[a-z]`, `\x`, and in a path `**`. Texts are bytes, one
 * character each (latin1).
 *
 * Patterns come from anybody. So nothing is ever tried again: all the ways in which the beginning of a text can fit are
 * followed side by side, and the time is at most the length of the text times that of the pattern.
 */
export interface Glob {
  readonly matches: (text: string) => boolean
  /** Whether a longer text that begins like this could fit. */
  readonly mayGoOn: (text: string) => boolean
}

type Token =
  | { readonly is: 'one'; readonly of: ReadonlySet<number> }
  /** Any number of characters: all but slashes, or with slashes. */
  | { readonly is: 'run'; readonly slashes: boolean }
  /** Nothing, or any number of characters and a slash. */
  | { readonly is: 'directories' }

const slash = 0x2f
const never: Glob = { matches: () => false, mayGoOn: () => false }

/** @param isPath a slash is only met by a slash and by `**`; else the text is a name, and has none */
export function compileGlob(pattern: string, isPath: boolean): Glob {
  if (!/[*?[\\]/.test(pattern)) {
    return { matches: (text) => text === pattern, mayGoOn: (text) => pattern.startsWith(text) }
  }
  if (!isPath && /^\*[^*?[\\]*$/.test(pattern)) {
    const end = pattern.slice(1)
    return { matches: (text) => text.endsWith(end), mayGoOn: () => true }
  }
  const tokens = parse(pattern, isPath)
  if (tokens === undefined) return never
  // Most texts do not even begin or end like it.
  const start = pattern.slice(0, pattern.search(/[*?[\\]/))
  const last = tokens.at(-1)
  const couldFit = (text: string): boolean =>
    text.startsWith(start) && (last?.is !== 'one' || last.of.has(text.charCodeAt(text.length - 1)))
  return {
    matches: (text) => couldFit(text) && follow(tokens, text)[tokens.length] === 1,
    mayGoOn: (text) => follow(tokens, text).subarray(0, tokens.length).includes(1),
  }
}

/** Which tokens can come next when the text has been read. */
function follow(tokens: readonly Token[], text: string): Uint8Array {
  let now = new Uint8Array(tokens.length + 1)
  let next = new Uint8Array(tokens.length + 1)
  arrive(tokens, now, 0)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    next.fill(0)
    for (let at = 0; at < tokens.length; at++) if (now[at] === 1) step(tokens, next, at, code)
    ;[now, next] = [next, now]
  }
  return now
}

function step(tokens: readonly Token[], next: Uint8Array, at: number, code: number): void {
  const token = tokens[at]
  if (token?.is === 'one') {
    if (token.of.has(code)) arrive(tokens, next, at + 1)
  } else if (token?.is === 'run') {
    if (token.slashes || code !== slash) arrive(tokens, next, at)
  } else {
    // Still in it, but from here it is left by a slash alone.
    next[at] = 1
    if (code === slash) arrive(tokens, next, at + 1)
  }
}

/** What can be nothing is passed at once. */
function arrive(tokens: readonly Token[], states: Uint8Array, first: number): void {
  for (let at = first; ; at++) {
    states[at] = 1
    if (at === tokens.length || tokens[at]?.is === 'one') return
  }
}

/** Undefined if nothing can fit: a set without an end, a backslash with nothing behind it. */
function parse(pattern: string, isPath: boolean): Token[] | undefined {
  const tokens: Token[] = []
  for (let at = 0; at < pattern.length;) {
    const character = pattern[at]
    if (character === '*') {
      const { token, end } = parseStars(pattern, at, isPath)
      tokens.push(token)
      at = end
    } else if (character === '[') {
      const set = parseSet(pattern, at + 1)
      if (set === undefined) return undefined
      if (isPath) set.of.delete(slash)
      tokens.push({ is: 'one', of: set.of })
      at = set.end
    } else if (character === '?') {
      tokens.push({ is: 'one', of: isPath ? allButSlash : all })
      at += 1
    } else {
      if (character === '\\') at += 1
      if (at === pattern.length) return undefined
      tokens.push({ is: 'one', of: new Set([pattern.charCodeAt(at)]) })
      at += 1
    }
  }
  return tokens
}

const all: ReadonlySet<number> = new Set(Array.from({ length: 256 }, (_, code) => code))
const allButSlash: ReadonlySet<number> = new Set([...all].filter((code) => code !== slash))

/** Two and more mean directories only where they stand alone between slashes. */
function parseStars(pattern: string, start: number, isPath: boolean): { token: Token; end: number } {
  let end = start
  while (pattern[end] === '*') end += 1
  if (!isPath) return { token: { is: 'run', slashes: true }, end }
  const isWhole = end - start > 1 && (start === 0 || pattern[start - 1] === '/')
  if (isWhole && pattern[end] === '/') return { token: { is: 'directories' }, end: end + 1 }
  const slashes = isWhole && (end === pattern.length || pattern.startsWith('\\/', end))
  return { token: { is: 'run', slashes }, end }
}

interface ParsedSet {
  readonly of: Set<number>
  readonly end: number
}

/** Behind the opening bracket. A closing one that comes first is a member. */
function parseSet(pattern: string, start: number): ParsedSet | undefined {
  const isNegated = pattern[start] === '!' || pattern[start] === '^'
  const first = isNegated ? start + 1 : start
  const of = new Set<number>()
  /** What a range may begin with. */
  let before: number | undefined
  for (let at = first; at < pattern.length;) {
    const character = pattern[at]
    if (character === ']' && at > first) {
      return { of: isNegated ? new Set([...all].filter((code) => !of.has(code))) : of, end: at + 1 }
    }
    const named = character === '[' && pattern[at + 1] === ':' ? parseClass(pattern, at + 2) : undefined
    if (named === 'malformed') return undefined
    if (named !== undefined) {
      for (const code of named.of) of.add(code)
      before = undefined
      at = named.end
    } else if (character === '-' && before !== undefined && at + 1 < pattern.length && pattern[at + 1] !== ']') {
      const last = pattern[at + 1] === '\\' ? at + 2 : at + 1
      if (last >= pattern.length) return undefined
      for (let code = before; code <= pattern.charCodeAt(last); code++) of.add(code)
      before = undefined
      at = last + 1
    } else {
      if (character === '\\') at += 1
      if (at >= pattern.length) return undefined
      before = pattern.charCodeAt(at)
      of.add(before)
      at += 1
    }
  }
  return undefined
}

/** Behind `[:`. Undefined if it is no class but two characters of the set. */
function parseClass(pattern: string, start: number): { of: readonly number[]; end: number } | 'malformed' | undefined {
  const end = pattern.indexOf(']', start)
  if (end === -1) return 'malformed'
  if (end === start || pattern[end - 1] !== ':') return undefined
  const expression = classes[pattern.slice(start, end - 1)]
  const members = expression && those(expression)
  return members === undefined ? 'malformed' : { of: members, end: end + 1 }
}

const ascii = Array.from({ length: 128 }, (_, code) => code)
const those = (expression: RegExp): readonly number[] =>
  ascii.filter((code) => expression.test(String.fromCharCode(code)))

const classes: Readonly<Record<string, RegExp>> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  // oxlint-disable-next-line no-control-regex -- that is what the class is
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t\n\v\f\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
}
