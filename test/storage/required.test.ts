/**
 * What must work wherever the tests run: a driver that cannot is a failure here, never a test that is left out. As root,
 * the file systems are made; an ordinary user has the one that is there.
 */
import { expect, it } from 'vitest'
import { isRoot } from '../contracts/storage/host.ts'
import { drawn } from '../support/random-selection.ts'
import { runOnImage } from './on-image.ts'
import { requirements } from './requirements.ts'
import { subjects } from './subjects.ts'

/** Plain directories keep it in the tests of their module too. */
const groupOf = ({ driver }: { readonly driver: string }): string => (driver === 'overlay' ? driver : 'another')

it.each(drawn(requirements, groupOf))(
  '$driver on $fileSystem as $as keeps the contract',
  ({ driver, fileSystem, as }) => {
    const { passed, failures } = runOnImage({ fileSystem, as, files: [`test/storage/${driver}.inside.ts`] })
    expect(failures).toEqual([])
    expect(passed).toBeGreaterThan(140)
  },
  600_000,
)

it('dir can be used by whoever runs the tests', async () => {
  using subject = await subjects.dir()
  expect(await subject.storage.probe()).toMatchObject({ usable: true })
})

it('root requires every driver', () => {
  const required = [...new Set(requirements.map(({ driver }) => driver))].toSorted()
  expect(required).toEqual(isRoot ? Object.keys(subjects).toSorted() : [])
})
