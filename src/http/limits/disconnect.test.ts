import { expect, test } from 'vitest'
import { collect } from '../../../test/support/collect.ts'
import { untilAborted } from './disconnect.ts'

test('all items, and whoever stops early ends what makes them', async () => {
  let isEnded = false
  async function* three() {
    try {
      yield* [1, 2, 3]
    } finally {
      isEnded = true
    }
  }
  const { signal } = new AbortController()
  expect(await collect(untilAborted(three(), signal))).toEqual([1, 2, 3])
  isEnded = false
  for await (const item of untilAborted(three(), signal)) if (item === 2) break
  expect(isEnded).toBe(true)
})

test('whoever is let go ends at once with the reason, and what makes the items goes on and hears nothing of it', async () => {
  const left = new AbortController()
  const going = Promise.withResolvers<number>()
  let isEnded = false
  async function* waiting() {
    try {
      yield 1
      yield await going.promise
    } finally {
      isEnded = true
    }
  }
  const items = untilAborted(waiting(), left.signal)
  expect(await items.next()).toEqual({ done: false, value: 1 })
  const second = items.next()
  left.abort(new Error('The daemon ends'))
  await expect(second).rejects.toThrow('The daemon ends')
  expect(isEnded).toBe(false)
  // What fails then fails for nobody.
  going.reject(new Error('too late'))
  await expect(collect(untilAborted(waiting(), left.signal))).rejects.toThrow('The daemon ends')
})
