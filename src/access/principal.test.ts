import { expect, test } from 'vitest'
import { reaches } from './principal.ts'

/** All texts of these characters up to a length. */
const texts = (characters: string, longest: number): string[] =>
  longest === 0
    ? ['']
    : ['', ...texts(characters, longest - 1).flatMap((text) => characters.split('').map((one) => one + text))]

const unique = (all: readonly string[]): string[] => [...new Set(all)]

test('a star is any run of characters but a slash, as a regular expression would have it', () => {
  const words = unique(texts('ab', 4)).filter((word) => word !== '')
  let count = 0
  for (const pattern of unique(texts('ab*', 4)).filter((one) => one !== '')) {
    const expression = new RegExp(`^${pattern.replaceAll('*', '[^/]*')}$`)
    for (const word of words) {
      const [task, agent] = [{ name: `${word}/main` }, { name: `x/${word}` }]
      const fits = expression.test(word)
      expect(reaches(held(pattern), task), `${pattern} and ${word}`).toBe(fits)
      expect(reaches(held(`${pattern}/*`), task)).toBe(fits)
      expect(reaches(held(`*/${pattern}`), agent)).toBe(fits)
      count += 1
    }
  }
  expect(count).toBeGreaterThan(1000)
})

const held = (...workspaces: string[]) => ({ actor: 'token:tok_1', scopes: [], workspaces })

test('a star does not reach over a slash, and an id is itself alone', () => {
  expect(reaches(held('*'), { name: 'a/b' })).toBe(false)
  expect(reaches(held('*/*'), { name: 'a/b' })).toBe(true)
  expect(reaches(held('a*b/*'), { name: 'a/b' })).toBe(false)
  expect(reaches(held('a.b/*'), { name: 'axb/main' })).toBe(false)
  expect(reaches(held('ws_*'), { id: 'ws_1', name: 'ws_1/main' })).toBe(false)
  expect(reaches(held('ws_1'), { id: 'ws_1', name: 'a/main' })).toBe(true)
  expect(reaches(held(), { id: 'ws_1', name: 'a/main' })).toBe(false)
})
