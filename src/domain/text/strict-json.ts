import { AwError } from '../errors.ts'

/** What a text may hold. */
export interface JsonLimits {
  readonly depth: number
  readonly keys: number
  readonly values: number
}

export const defaultJsonLimits: JsonLimits = { depth: 32, keys: 10_000, values: 100_000 }

/**
 * JSON from outside. Two readers of the same text must not see two things in it: a key that is there twice is refused,
 * and so is `__proto__`. Nor may it be deeper or hold more than anybody needs: that is looked at first, as a text of a
 * few megabytes can be parsed into gigabytes.
 */
export function readJson(text: string, limits: JsonLimits): unknown {
  assertPlain(text, limits)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw notJson(cause)
  }
}

/** Strings, brackets and commas are all there is to look at; whether it is JSON is seen afterwards. */
function assertPlain(text: string, most: JsonLimits): void {
  const keys: (Set<string> | undefined)[] = []
  const count = { keys: 0, values: 0 }
  let isKey = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '"') {
      const end = endOfString(text, i)
      const seen = keys.at(-1)
      if (isKey && seen !== undefined) {
        note(seen, text.slice(i, end + 1))
        if (++count.keys > most.keys) throw tooMuch(`has more than ${most.keys} keys`)
        isKey = false
      }
      i = end
    } else if (character === '{' || character === '[') {
      keys.push(character === '{' ? new Set() : undefined)
      isKey = character === '{'
      if (keys.length > most.depth) throw tooMuch(`is nested deeper than ${most.depth} levels`)
    } else if (character === '}' || character === ']') {
      keys.pop()
      isKey = false
    } else if (character === ',') {
      isKey = keys.at(-1) !== undefined
      if (++count.values > most.values) throw tooMuch(`holds more than ${most.values} values`)
    }
  }
}

function note(seen: Set<string>, quoted: string): void {
  let key: string
  try {
    key = JSON.parse(quoted) as string
  } catch (cause) {
    throw notJson(cause)
  }
  if (key === '__proto__') throw new AwError('invalid_input', 'The body has a key __proto__')
  if (seen.has(key)) throw new AwError('invalid_input', `The body has the key ${JSON.stringify(key)} twice`)
  seen.add(key)
}

/** From quote to quote in leaps: content may be megabytes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before -= 1
    if ((end - before) % 2 === 0) return end
  }
  throw notJson(undefined)
}

const tooMuch = (what: string): AwError => new AwError('invalid_input', `The body ${what}`)
const notJson = (cause: unknown): AwError => new AwError('invalid_input', 'The body is not JSON', { cause })
