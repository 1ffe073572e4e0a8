import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { waitForTurn } from './queue-lock.ts'

function lockFile(): string {
  const base = mkdtempSync(join(tmpdir(), 'aw-queue-'))
  onTestFinished(() => rmSync(base, { recursive: true }))
  return join(base, 'queue')
}

const long = { patienceMs: 600_000 }
const short = { patienceMs: 20 }

it('is handed over in the order in which it was asked for', async () => {
  const file = lockFile()
  const first = await waitForTurn(file, 7, long)
  const order: number[] = []
  const waiting = Array.from({ length: 12 }, async (_, number) => {
    using turn = await waitForTurn(file, 7, long)
    if (turn !== undefined) order.push(number)
  })
  expect(order).toEqual([])
  first?.[Symbol.dispose]()
  await Promise.all(waiting)
  expect(order).toEqual(order.map((_, number) => number))
  expect(order).toHaveLength(12)
})

it('is given up only if nobody moves, however long the queue is', async () => {
  const file = lockFile()
  const held = await waitForTurn(file, 7, long)
  expect(await waitForTurn(file, 7, short)).toBeUndefined()
  // Whoever gives up leaves the queue: others are not behind it.
  held?.[Symbol.dispose]()
  using again = await waitForTurn(file, 7, short)
  expect(again).toBeDefined()
})

it('waits for a queue that moves, longer than it would for one that does not', async () => {
  const file = lockFile()
  const patienceMs = 1000
  const first = await waitForTurn(file, 7, long)
  const waited: number[] = []
  const begun = Date.now()
  const waiting = Array.from({ length: 6 }, async () => {
    using turn = await waitForTurn(file, 7, { patienceMs })
    expect(turn).toBeDefined()
    waited.push(Date.now() - begun)
    await new Promise((resolve) => setTimeout(resolve, patienceMs / 4))
  })
  first?.[Symbol.dispose]()
  await Promise.all(waiting)
  expect(Math.max(...waited)).toBeGreaterThan(patienceMs)
})

it('keeps nobody from another lock of the file', async () => {
  const file = lockFile()
  using one = await waitForTurn(file, 2 ** 40 - 1, short)
  using other = await waitForTurn(file, 2 ** 40 - 2, short)
  expect([one, other]).not.toContain(undefined)
})

it('is free again when its holder is killed', async () => {
  const file = lockFile()
  const queue = new URL('queue-lock.ts', import.meta.url).href
  const program = `
    const { waitForTurn } = await import(${JSON.stringify(queue)})
    globalThis.turn = await waitForTurn(${JSON.stringify(file)}, 7, { patienceMs: 1000 })
    console.log('has it')
    setInterval(() => {}, 1000)`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  expect(await waitForTurn(file, 7, short)).toBeUndefined()
  holder.kill('SIGKILL')
  using turn = await waitForTurn(file, 7, long)
  expect(turn).toBeDefined()
})
