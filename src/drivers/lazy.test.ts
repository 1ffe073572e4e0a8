import { expect, test } from 'vitest'
import { collect } from '../../test/support/collect.ts'
import { lazy } from './lazy.ts'

interface Port {
  add(one: number, another: number): Promise<number>
  count(to: number): AsyncIterable<number>
}

const port: Port = {
  add: async (one, another) => one + another,
  async *count(to) {
    for (let n = 1; n <= to; n++) yield n
  },
}

test('it is loaded by the first call, and once', async () => {
  let loads = 0
  const driver = lazy(async () => {
    loads++
    return port
  }, 'count')
  expect(loads).toBe(0)
  expect(await Promise.all([driver.add(1, 2), driver.add(3, 4)])).toEqual([3, 7])
  expect(await collect(driver.count(3))).toEqual([1, 2, 3])
  expect(loads).toBe(1)
})

test('a stream that nobody reads loads nothing', () => {
  let loads = 0
  const driver = lazy(async () => {
    loads++
    return port
  }, 'count')
  driver.count(3)
  expect(loads).toBe(0)
})

test('what keeps it from being loaded is told to each caller', async () => {
  const driver = lazy<Port>(() => Promise.reject(new Error('gone')), 'count')
  await expect(driver.add(1, 2)).rejects.toThrow('gone')
  await expect(collect(driver.count(3))).rejects.toThrow('gone')
})

test('it may be awaited and shown, which loads nothing', async () => {
  let loads = 0
  const driver = lazy(async () => {
    loads++
    return port
  }, 'count')
  expect(await Promise.resolve(driver)).toBe(driver)
  expect(String(Reflect.get(driver, Symbol.toStringTag))).toBe('undefined')
  expect(loads).toBe(0)
})
