/** More connections to one box than it takes. */
import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { type BoxConnection, connectBox } from '../../../src/drivers/sandbox/box/connection.ts'
import { startBox } from './harness.ts'

test('one too many is told so, and not that the box has ended', async () => {
  const box = await startBox()
  const directory = openSync(dirname(box.socket), 'r')
  const connecting = Array.from({ length: 300 }, () => connectBox(directory, { timeoutMs: 20_000 }))
  const outcomes = await Promise.allSettled(connecting)
  closeSync(directory)
  const connected = outcomes.flatMap((it): BoxConnection[] => (it.status === 'fulfilled' ? [it.value] : []))
  await Promise.all(connected.map((it) => it[Symbol.asyncDispose]()))
  // One is the test's own.
  expect(connected).toHaveLength(255)
  const errors = outcomes.flatMap((it) => (it.status === 'rejected' ? [it.reason as unknown] : []))
  expect(errors).toHaveLength(45)
  for (const error of errors) {
    expect(error).toMatchObject({ code: 'limit_reached', message: 'The sandbox has too many connections' })
  }
})
