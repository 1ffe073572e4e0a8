import { afterAll, expect, test } from 'vitest'
import { runOnImage } from '../../storage/on-image.ts'
import { ownAuthority } from './own-authority.ts'

const authority = ownAuthority()
afterAll(() => authority[Symbol.dispose]())

test.each(['root', 'an ordinary user'] as const)('boxes with brokers, started by %s', (as) => {
  const { passed, failures } = runOnImage({
    fileSystem: 'ext4',
    as,
    files: ['test/sandbox/network/brokers.inside.ts'],
    env: {
      NODE_EXTRA_CA_CERTS: authority.file,
      AW_TEST_IDENTITY: JSON.stringify(authority.identity('DNS:localhost')),
    },
  })
  expect(failures).toEqual([])
  expect(passed).toBe(10)
})
