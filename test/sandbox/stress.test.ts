import { expect, it } from 'vitest'
import { drawn } from '../support/random-selection.ts'
import { runOnImage } from '../storage/on-image.ts'
import { insideTests } from './inside-tests.ts'

/** A few of everything here, and what waits long as one user only; many, and as both, in `npm run prove`. */
const some = [
  { name: 'stress', as: 'root' },
  { name: 'stress', as: 'an ordinary user' },
  { name: 'kills', as: 'an ordinary user' },
] as const

it.each(drawn(some, ({ name }) => name))('sandboxes: $name, as $as', { timeout: 600_000 }, ({ name, as }) => {
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files: [`test/sandbox/${name}.inside.ts`] })
  expect(failures).toEqual([])
  expect(passed).toBe(insideTests[name])
})
