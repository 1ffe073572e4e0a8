import { describe, expect, it } from 'vitest'
import { runOnImage } from '../storage/on-image.ts'

/** How many tests each file has: one that is left out would not be missed otherwise. */
const files = { stress: 5, kills: 10 } as const

/** A few of everything here; many in `npm run prove`. */
describe.each(['root', 'an ordinary user'] as const)('sandboxes of %s', (as) => {
  it.each(Object.entries(files))(
    '%s',
    (name, count) => {
      const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files: [`test/sandbox/${name}.inside.ts`] })
      expect(failures).toEqual([])
      expect(passed).toBe(count)
    },
    600_000,
  )
})
