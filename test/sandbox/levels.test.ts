import { describe, expect, it } from 'vitest'
import { someUser } from '../support/random-selection.ts'
import { runOnImage } from '../storage/on-image.ts'

/** How many tests each file has: one that is left out would not be missed otherwise. */
const files = {
  contract: 147,
  walls: 46,
  exec: 23,
  limits: 15,
  ends: 25,
  guarded: 17,
  trees: 23,
} as const

/** What holds for all is tried as one of them, and as both in `npm run prove`; the walls always as both. */
const both = ['walls', 'contract']

describe.each(Object.entries(files))('sandboxes: %s', (name, count) => {
  it.each(both.includes(name) ? (['root', 'an ordinary user'] as const) : someUser(name))('of %s', (as) => {
    expectPasses(as, name, count)
  })
})

it('trees of layers of an ordinary user', () => {
  expectPasses('an ordinary user', 'layers', 5)
})

it('user namespaces with other ids', () => {
  expectPasses('root', 'ids', 2)
  expectPasses('an ordinary user', 'ids', 1)
})

function expectPasses(as: 'root' | 'an ordinary user', name: string, count: number): void {
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files: [`test/sandbox/${name}.inside.ts`] })
  expect(failures).toEqual([])
  expect(passed).toBe(count)
}
