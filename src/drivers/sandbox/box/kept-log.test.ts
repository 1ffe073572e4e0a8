import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { collect } from '../../../../test/support/collect.ts'
import { readKeptLog } from './kept-log.ts'

test('a log that nobody has begun can be followed until the run is over', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'aw-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  let asked = 0
  const follow = { isOver: async () => ++asked > 1 }
  const items = await collect(readKeptLog(join(directory, 'run_1'), { follow }))
  expect([items, asked]).toEqual([[], 2])
})
