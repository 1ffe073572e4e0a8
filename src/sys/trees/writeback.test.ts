import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { withWriteback } from './writeback.ts'

let tree: string
beforeEach(() => void (tree = mkdtempSync(join(tmpdir(), 'aw-early-'))))
afterEach(() => rmSync(tree, { recursive: true, force: true }))

test.each([0, 150])('what the work of %i ms answers is answered', async (ms) => {
  expect(await withWriteback(tree, async () => sleep(ms, 'done'))).toBe('done')
})

test.each(['', 'nothing'])('how the work fails is told, also where nothing can be written out: %j', async (name) => {
  const failing = withWriteback(join(tree, name), async () => {
    await sleep(1)
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
})

test('that it cannot be written out is told', async () => {
  await expect(withWriteback(join(tree, 'nothing'), async () => 'done')).rejects.toThrow('ENOENT')
})
