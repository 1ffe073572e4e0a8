import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { memoryEvents } from '../../../test/memory/events.ts'
import { AwError } from '../../domain/errors.ts'
import type { BaseFacts } from '../../domain/sources/bases.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core, Request } from '../core.ts'
import { freezeBase } from './base-trees.ts'
import { makeContent } from './content.ts'
import { importedOf } from './fill.ts'

const source = { kind: 'archive' as const, path: '/a.tar', digest: 'sha256:1', trusted: false }
const imported = importedOf({ files: 3, bytes: 4, reflinked: 0, skipped: [] })
const request = { actor: 'user:0', correlationId: 'c' } as Request
const places = { whole: { area: 'volumes', name: 'ws' }, filled: { area: 'tmp', name: 'op' } } as const

/** A core whose base is made by somebody else, just before anybody looks whether it is there. */
function coreWith(durable: () => Promise<void>): Core {
  const core = {
    store: memoryEvents(),
    clock: { now: () => new Date(0), random: randomBytes },
    storage: {
      capabilities: { fork: 'constant' },
      async exists(place: Place) {
        const facts = { group: place.name, profile: 'standard', source, imported } as unknown as BaseFacts
        await freezeBase(core, request, places.filled, place.name, facts)
        return true
      },
      snapshot: async () => undefined,
      create: async () => ({ durable: durable() }),
    },
  } as unknown as Core
  return core
}

it('what is known of a base is known to whoever begins as it when it has just been made', async () => {
  const core = coreWith(() => Promise.resolve())
  const made = await makeContent(core, request, { source, profile: 'standard' }, places, {})
  expect(made).toMatchObject({ place: places.whole, imported: { files: 3, bytes: 4 } })
})

it('a tree that does not become durable is told of by the promise, and by nothing before', async () => {
  const core = coreWith(() => Promise.reject(new AwError('disk_full', 'full')))
  const made = await makeContent(core, request, { source, profile: 'standard' }, places, {})
  await new Promise(setImmediate)
  await expect(made.durable).rejects.toMatchObject({ code: 'disk_full' })
})
