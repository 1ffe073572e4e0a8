import { expect, it } from 'vitest'
import type { Workspace } from '../../../src/index.ts'
import { names, note, openHome, read, sizes, timed, write } from './fixture.ts'

const { depth } = sizes

it(`a fork of a fork, ${depth} deep`, { timeout: 1_200_000 }, async () => {
  const { aw, first } = await openHome()
  const chain: Workspace[] = [first]
  const times: number[] = []
  write(first, 'changed', '0')
  for (let index = 1; index <= depth; index++) {
    const before = performance.now()
    const next = await aw.fork(`${chain.at(-1)?.id}`, { id: `deep-${index}/main` })
    times.push(performance.now() - before)
    write(next, 'changed', `${index}`)
    write(next, `own of ${index}`, `${index}`)
    chain.push(next)
  }
  note('fork, the first', times[0] ?? 0)
  note('fork, the last', times.at(-1) ?? 0)

  const check = (index: number): void => {
    const one = chain[index] ?? first
    expect(read(one, 'changed')).toBe(`${index}`)
    const own = Array.from({ length: index }, (_, at) => `own of ${at + 1}`)
    expect(names(one)).toEqual(['changed', 'src', ...own].toSorted())
    for (const name of own) expect(read(one, name)).toBe(name.slice('own of '.length))
    expect(read(one, 'src/7')).toBe('7'.repeat(500))
  }
  for (const index of chain.keys()) check(index)

  const middle = chain.slice(Math.ceil(depth / 4), Math.ceil((depth * 3) / 4))
  await timed('purge of the middle half', async () => {
    for (const { id } of middle) await aw.destroy(id, { purge: true })
  })
  await timed('gc', () => aw.gc({ older_than: '0s' }))
  for (const [index, one] of chain.entries()) if (!middle.includes(one)) check(index)

  const deepest = chain.at(-1) ?? first
  const { id } = await aw.snapshot(deepest.id)
  write(deepest, 'changed', 'and on')
  const deeper = await aw.fork(deepest.id, { id: 'deeper/main' })
  expect(read(deeper, 'changed')).toBe('and on')
  await aw.restore(deepest.id, id)
  check(depth)
  expect((await aw.recover()).lost).toEqual([])
  expect((await aw.verify()).snapshots.flatMap(({ problems }) => problems)).toEqual([])
})
