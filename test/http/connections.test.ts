import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, test } from 'vitest'
import { memoryCore } from '../memory/core.ts'
import { served } from '../support/http-manager.ts'

/** How many connections are opened meanwhile. */
async function connections(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const one = (): void => void count++
  subscribe('net.client.socket', one)
  try {
    await work()
    return count
  } finally {
    unsubscribe('net.client.socket', one)
  }
}

test('an answer that tells its progress leaves the connection to the next, also if it is a refusal', async () => {
  await using core = memoryCore().manager
  await using door = await served(core, { over: 'socket' })
  const call = (id: string) => door.manager.call('create', { id }, { onProgress: () => undefined })
  const opened = await connections(async () => {
    await call('task/one')
    await expect(call('task/one')).rejects.toMatchObject({ code: 'workspace_exists' })
    await call('task/two')
  })
  expect(opened).toBe(1)
})
