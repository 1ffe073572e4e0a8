import { AwError } from '../domain/errors.ts'

const deepest = 32
const mostKeys = 10_000

/**
 * JSON from outside. Two readers of the same text must not see two things in it: a key that is there twice is refused,
 * and so is `__proto__`. Nor may it be deeper or hold more keys than anybody needs.
 */
export function readJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new AwError('invalid_input', 'The body is not JSON', { cause })
  }
  assertPlain(text)
  return value
}

/** It is valid JSON already: strings and brackets are all there is to look at. */
function assertPlain(text: string): void {
  const keys: (Set<string> | undefined)[] = []
  let count = 0
  let isKey = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '"') {
      const end = endOfString(text, i)
      const seen = keys.at(-1)
      if (isKey && seen !== undefined) {
        note(seen, JSON.parse(text.slice(i, end + 1)) as string)
        count += 1
        if (count > mostKeys) throw new AwError('invalid_input', `The body has more than ${mostKeys} keys`)
        isKey = false
      }
      i = end
    } else if (character === '{' || character === '[') {
      keys.push(character === '{' ? new Set() : undefined)
      isKey = character === '{'
      if (keys.length > deepest) throw new AwError('invalid_input', `The body is nested deeper than ${deepest} levels`)
    } else if (character === '}' || character === ']') {
      keys.pop()
      isKey = false
    } else if (character === ',') {
      isKey = keys.at(-1) !== undefined
    }
  }
}

function note(seen: Set<string>, key: string): void {
  if (key === '__proto__') throw new AwError('invalid_input', 'The body has a key __proto__')
  if (seen.has(key)) throw new AwError('invalid_input', `The body has the key ${JSON.stringify(key)} twice`)
  seen.add(key)
}

function endOfString(text: string, start: number): number {
  let end = start + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end
}
