import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { boxNames } from './record.ts'
import { removeBox } from './remove.ts'

test('a file that a killed process left in the directory for boxes is taken for a box, and goes', async () => {
  const run = fs.mkdtempSync(join(tmpdir(), 'aw-run-'))
  try {
    const name = 'new-999999999-1-0123456789ab'
    fs.writeFileSync(join(run, name), 'half')
    expect(boxNames(run)).toEqual([name])
    await removeBox(run, name)
    await removeBox(run, name)
    expect(fs.readdirSync(run)).toEqual([])
  } finally {
    fs.rmSync(run, { recursive: true })
  }
})
