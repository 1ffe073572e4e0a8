import { expect, it } from 'vitest'
import { toAwError } from '../../domain/errors.ts'
import type { Frozen, Place, StorageDriver } from '../../ports/storage-driver.ts'
import { volume, type OpenStorage, type StorageSubject } from '../storage-contract.ts'
import { pathOf, startWriter } from './host.ts'
import { snap } from './trees.ts'

const size = 4096

/**
 * Trees that are being written to. A driver never says more than it can prove: what it calls atomic must be a state that
 * the tree really was in, of all files at one instant.
 */
export function liveContract(open: OpenStorage): void {
  const rounds = [1, 2, 3, 4, 5, 6]

  it('a snapshot that is called atomic is of one instant', async () => {
    const subject = await withNumbers(open)
    const { storage } = subject
    await using _ = await startWriter(await pathOf(subject, volume))
    const said = []
    for (const round of rounds) {
      const { consistency } = await storage.snapshot(volume, snap(round))
      said.push(consistency)
      if (consistency === 'atomic') expect(await numbersIn(storage, snap(round))).toEqual(oneInstant)
    }
    if (storage.capabilities.live === 'atomic') expect(said).toEqual(rounds.map(() => 'atomic'))
  })

  it('a snapshot stays as it is while the writer goes on', async () => {
    const subject = await withNumbers(open)
    const { storage } = subject
    await using _ = await startWriter(await pathOf(subject, volume))
    await storage.snapshot(volume, snap(1))
    const before = await Promise.all(['a', 'b'].map((name) => storage.read(snap(1), name, { maxBytes: 2 ** 30 })))
    for (const round of [2, 3]) await storage.snapshot(volume, snap(round), { since: snap(round - 1) })
    const after = await Promise.all(['a', 'b'].map((name) => storage.read(snap(1), name, { maxBytes: 2 ** 30 })))
    expect(after.map((bytes, i) => bytes.equals(before[i] ?? Buffer.alloc(0)))).toEqual([true, true])
    expect((await storage.verify(snap(1))).problems).toEqual([])
    const [a, b] = [await countIn(storage, snap(1)), await countIn(storage, snap(3))]
    expect(b).toBeGreaterThanOrEqual(a)
  })

  it('the writer loses nothing', async () => {
    const subject = await withNumbers(open)
    const { storage } = subject
    {
      await using _ = await startWriter(await pathOf(subject, volume))
      for (const round of rounds) await storage.snapshot(volume, snap(round))
    }
    expect(await numbersIn(storage, volume)).toEqual(oneInstant)
    expect(await storage.snapshot(volume, snap(7))).toMatchObject({ consistency: 'atomic' })
    expect(await numbersIn(storage, snap(7))).toEqual(await numbersIn(storage, volume))
  })

  it('one that must be consistent is, or is refused and leaves nothing', async () => {
    const subject = await withNumbers(open)
    const { storage } = subject
    await using _ = await startWriter(await pathOf(subject, volume))
    for (const round of rounds) {
      const told = await outcome(storage.snapshot(volume, snap(round), { consistent: true }))
      if (told === 'atomic') expect(await numbersIn(storage, snap(round))).toEqual(oneInstant)
      else expect([told, await storage.exists(snap(round))]).toEqual(['workspace_active', false])
    }
  })

  it('a restore keeps an atomic state of it, or is refused and changes nothing', async () => {
    const subject = await withNumbers(open)
    const { storage } = subject
    await storage.snapshot(volume, snap(0))
    await using _ = await startWriter(await pathOf(subject, volume))
    for (const round of rounds) {
      const told = await outcome(storage.restore(volume, snap(0), snap(round)))
      if (told === 'atomic') {
        expect(await numbersIn(storage, snap(round))).toEqual(oneInstant)
        break
      }
      expect([told, await storage.exists(snap(round))]).toEqual(['workspace_active', false])
      expect(await countIn(storage, volume)).toBeGreaterThan(0)
    }
  })
}

async function withNumbers(open: OpenStorage): Promise<StorageSubject> {
  const subject = await open()
  await subject.storage.create(volume)
  for (const name of ['a', 'b']) subject.write(volume, name, '')
  return subject
}

/** `a` has as many records as `b`, or one more; each is whole, and none is missing. */
const oneInstant = { broken: [], lead: expect.toSatisfy((lead: number) => lead === 0 || lead === 1) as unknown }

async function numbersIn(storage: StorageDriver, place: Place): Promise<{ broken: string[]; lead: number }> {
  const counts: number[] = []
  const broken: string[] = []
  for (const [i, name] of ['a', 'b'].entries()) {
    const text = (await storage.read(place, name, { maxBytes: 2 ** 30 })).toString('latin1')
    counts.push(Math.floor(text.length / size))
    if (text.length % size !== 0) broken.push(`${name}: ${text.length % size} bytes of a record`)
    for (let number = 0; number < text.length / size; number++) {
      const expected = `${String(1 + i + 2 * number).padStart(size - 1, '0')}\n`
      if (text.slice(number * size, (number + 1) * size) !== expected) broken.push(`${name}: record ${number}`)
    }
  }
  return { broken, lead: (counts[0] ?? 0) - (counts[1] ?? 0) }
}

const countIn = async (storage: StorageDriver, place: Place): Promise<number> =>
  (await storage.read(place, 'a', { maxBytes: 2 ** 30 })).length / size

const outcome = async (call: Promise<Frozen | undefined>): Promise<string> =>
  call.then(
    (frozen) => frozen?.consistency ?? 'nothing to resume',
    (error: unknown) => toAwError(error).code,
  )
