import { expect, test } from 'vitest'
import type { AnyEvent } from '../../domain/log/event.ts'
import type { EventStore } from '../../ports/event-store.ts'
import { cachedFold } from './cached-fold.ts'

/** A log of which only versions are asked, that remembers what was read. */
function log() {
  const events: AnyEvent[] = []
  const read: number[] = []
  const store = {
    version: async () => events.length,
    async *read(_: string, { after = 0 } = {}) {
      for (const event of events.slice(after)) {
        read.push(event.version)
        yield event
      }
    },
  } as unknown as EventStore
  const append = (): void => void events.push({ version: events.length + 1 } as AnyEvent)
  return { store, read, append, events }
}

const versions = () =>
  cachedFold<readonly number[]>([], (events, before = []) => [
    ...before,
    ...Array.from(events, ({ version }) => version),
  ])

test('what was read is not read again, and what came since is', async () => {
  const { store, read, append } = log()
  const fold = versions()
  expect(await fold(store, 'home')).toEqual([])
  append()
  append()
  expect(await fold(store, 'home')).toEqual([1, 2])
  expect(await fold(store, 'home')).toEqual([1, 2])
  append()
  expect(await fold(store, 'home')).toEqual([1, 2, 3])
  expect(read).toEqual([1, 2, 3])
})

test('a log that is another one now, as after it was put back, is read anew', async () => {
  const { store, append, events } = log()
  const fold = versions()
  for (let i = 0; i < 3; i++) append()
  await fold(store, 'home')
  events.length = 1
  expect(await fold(store, 'home')).toEqual([1])
})

test('each log and each stream has its own, and of many the oldest is forgotten, not mistaken', async () => {
  const [one, other] = [log(), log()]
  const fold = versions()
  one.append()
  expect(await fold(one.store, 'home')).toEqual([1])
  expect(await fold(other.store, 'home')).toEqual([])
  for (let i = 0; i < 150; i++) expect(await fold(one.store, `ws_${i}` as 'home')).toEqual([1])
  expect(await fold(one.store, 'home')).toEqual([1])
})
