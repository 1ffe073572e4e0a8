import { expect, it } from 'vitest'
import { toAwError } from '../../../src/domain/errors.ts'
import type { Frozen, Place, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { volume, type OpenStorage, type StorageSubject } from '../storage.ts'
import { pathOf, startWriter } from './host.ts'
import { snap } from './trees.ts'

const size = 4096

/**
 * Trees that are being written to. A driver never says more than it can prove: what it calls atomic must be a state that
 * the tree really was in, of all files at one instant. (That a file system makes snapshots in one step does not suffice:
 * btrfs flushes file by file before it, and a file that grows meanwhile may end in zeros.)
 */
export function liveContract(open: OpenStorage): void {
  const rounds = [1, 2, 3, 4, 5, 6]

  it('a snapshot that is called atomic is of one instant', async () => {
    const subject = await withNumbers(open)
    const { storage } = subject
    await using _ = await startWriter(await pathOf(subject, volume))
    const said: string[] = []
    for (const round of rounds) {
      const { consistency } = await storage.snapshot(volume, snap(round))
      const seen = await numbersIn(storage, snap(round))
      said.push(consistency === 'atomic' && !isOneInstant(seen) ? `atomic, but ${JSON.stringify(seen)}` : consistency)
    }
    const may = storage.capabilities.live === 'atomic' ? ['atomic'] : ['atomic', 'fuzzy']
    expect(said.filter((word) => !may.includes(word))).toEqual([])
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
    let halfWay: Place | undefined
    {
      await using _ = await startWriter(await pathOf(subject, volume))
      for (const round of rounds) {
        const told = await outcome(storage.restore(volume, snap(0), snap(round)))
        if (told !== 'atomic') expect(told).toBe('workspace_active')
        const isKept = await storage.exists(snap(round))
        if (told === 'atomic') expect(isKept).toBe(true)
        if (isKept) expect(await numbersIn(storage, snap(round))).toEqual(oneInstant)
        else expect(await countIn(storage, volume)).toBeGreaterThan(0)
        if (told !== 'atomic' && isKept) halfWay = snap(round)
        if (isKept) break
      }
    }
    if (halfWay === undefined) return
    // Only where files are changed one by one: some were, then the writer was met. It can be finished.
    expect(storage.capabilities.restore).toBe('in place')
    expect(await outcome(storage.restore(volume, snap(0), halfWay, { resume: snap(8) }))).toBe('atomic')
    expect(await countIn(storage, volume)).toBe(0)
    expect(await storage.exists(snap(8))).toBe(true)
  })
}

async function withNumbers(open: OpenStorage): Promise<StorageSubject> {
  const subject = await open()
  await subject.storage.create(volume)
  for (const name of ['a', 'b']) subject.write(volume, name, '')
  return subject
}

/** What is in the two files, and how many records `a` is ahead. */
interface Numbers {
  readonly lead: number
  /** Records that are not what they should be, the first of each file. */
  readonly broken: readonly string[]
}

/** `a` has as many records as `b`, or one more; each is whole, and none is missing. */
const isOneInstant = ({ lead, broken }: Numbers): boolean => broken.length === 0 && (lead === 0 || lead === 1)
const oneInstant: unknown = expect.toSatisfy(isOneInstant)

async function numbersIn(storage: StorageDriver, place: Place): Promise<Numbers> {
  const [a, b] = [await recordsIn(storage, place, 'a', 1), await recordsIn(storage, place, 'b', 2)]
  return { lead: a.count - b.count, broken: [...a.broken, ...b.broken] }
}

async function recordsIn(storage: StorageDriver, place: Place, name: string, first: number) {
  const text = (await storage.read(place, name, { maxBytes: 2 ** 30 })).toString('latin1')
  const count = text.length / size
  const numbers = Array.from({ length: Math.ceil(count) }, (_, i) => i)
  const wrong = numbers.find((i) => !text.startsWith(`${String(first + 2 * i).padStart(size - 1, '0')}\n`, i * size))
  if (wrong === undefined) return { count, broken: [] }
  const end = JSON.stringify(text.slice(wrong * size, (wrong + 1) * size).slice(-8))
  return { count, broken: [`${name}: record ${wrong} of ${count} ends with ${end}`] }
}

const countIn = async (storage: StorageDriver, place: Place): Promise<number> =>
  (await storage.read(place, 'a', { maxBytes: 2 ** 30 })).length / size

const outcome = async (call: Promise<Frozen | undefined>): Promise<string> =>
  call.then(
    (frozen) => frozen?.consistency ?? 'nothing to resume',
    (error: unknown) => toAwError(error).code,
  )
