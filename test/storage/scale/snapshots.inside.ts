import { expect, it } from 'vitest'
import { note, openHome, read, sizes, timed, write } from './fixture.ts'

const { snapshots: many } = sizes

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0

it(`${many} snapshots of one workspace cost the last as the first`, { timeout: 1_200_000 }, async () => {
  const { aw, first, folder } = await openHome()
  const ids: string[] = []
  const [times, early]: [number[], number[]] = [[], []]
  const some = Math.min(50, Math.floor(many / 4))
  const fresh = await aw.create({ id: 'fresh/main', from: { folder } })
  const snapshot = async (of: typeof first, index: number, times: number[]): Promise<string> => {
    write(of, 'state', `state ${index}`)
    if (index % 10 === 0) write(of, `of ${index}`, `${index}`)
    const before = performance.now()
    const { id } = await aw.snapshot(of.id, { label: `number ${index}` })
    times.push(performance.now() - before)
    return id
  }
  for (let index = 0; index < many; index++) {
    ids.push(await snapshot(first, index, times))
    // In turn with one that has few of them: whatever else the machine does meanwhile, both feel it.
    if (index >= many - some) await snapshot(fresh, index, early)
  }
  const late = median(times.slice(-some))
  note('a snapshot, at first', median(early))
  note('a snapshot, at last', late)
  expect(late).toBeLessThan(median(early) * 5)

  const listed = await timed('list', () => aw.snapshots(first.id))
  expect(listed.map(({ id }) => id)).toEqual(ids)
  expect(listed.map(({ parent }) => parent)).toEqual([null, ...ids.slice(0, -1)])

  const last = many - 1
  const middle = Math.floor(many / 2) + 1
  for (const index of [0, middle, last]) {
    await timed(`restore ${index}`, () => aw.restore(first.id, `number ${index}`))
    expect(read(first, 'state')).toBe(`state ${index}`)
  }
  const changes = await timed('diff of the first and the last', async () => aw.diff(ids[0] ?? '', ids[last] ?? ''))
  const added = Array.from({ length: Math.ceil(many / 10) - 1 }, (_, index) => `work/of ${(index + 1) * 10}`)
  expect(changes.filter(({ change }) => change === 'added').map(({ path }) => path)).toEqual(added.toSorted())
  expect(changes.filter(({ change }) => change !== 'added').map(({ path }) => path)).toEqual(['work/state'])

  const odd = ids.filter((_, index) => index % 2 === 0)
  const before = performance.now()
  const { removed } = await timed('removal of every second', () => aw.snapshot.remove(first.id, { snapshots: odd }))
  expect(removed).toEqual(odd)
  // What looks through all of the others for each of them takes far longer.
  expect(performance.now() - before).toBeLessThan(times.reduce((all, one) => all + one) * 10)
  await timed('gc', () => aw.gc({ older_than: '0s' }))
  const left = ids.filter((_, index) => index % 2 === 1)
  const asked = (await aw.snapshots(first.id)).filter(({ reason }) => reason === 'user')
  expect(asked.map(({ id }) => id)).toEqual(left)
  const { snapshots: checked } = await timed('verify', () => aw.verify(first.id))
  expect(checked.flatMap(({ problems }) => problems)).toEqual([])
  for (const index of [1, last - (1 - (last % 2))]) {
    await aw.restore(first.id, `number ${index}`)
    expect(read(first, 'state')).toBe(`state ${index}`)
  }
  expect((await aw.recover()).lost).toEqual([])
  await timed('destroy and purge', () => aw.destroy(first.id, { purge: true }))
  expect(await aw.snapshots(first.id)).toEqual([])
})
