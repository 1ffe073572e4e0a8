import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Manager } from '../ports/manager.ts'
import { memoryAnswers } from '../testing/memory-answers.ts'
import { startLoops } from './loops.ts'

test('what is done seldom is not done all the time: a timer that is to wait for too long would not wait', async () => {
  let count = 0
  const manager = {
    async call() {
      count += 1
      return { items: [], bytes: 0 }
    },
  } as unknown as Manager
  const about = { answers: memoryAnswers(), reopen: async () => false, turnLog: () => false, log: () => undefined }
  const { signal } = new AbortController()
  using _ = startLoops({ manager, ...about, gcMinutes: 60 * 24 * 365, signal })
  await sleep(50)
  expect(count).toBe(0)
})
