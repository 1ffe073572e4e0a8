import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { launchBox } from './launch.ts'
import { ownersFile } from '../record.ts'

it('a supervisor that cannot be run is a sandbox that cannot be started', async () => {
  const path = mkdtempSync(join(tmpdir(), 'aw-launch-'))
  const directory = openSync(path, 'r')
  try {
    using owners = ownersFile(path)
    const launch = { path, directory, owners, tags: [], descriptors: [-1], timeoutMs: 5000 }
    await expect(launchBox(launch)).rejects.toMatchObject({
      code: 'sandbox_unenforceable',
      message: expect.stringContaining('supervisor cannot be run') as string,
      hint: expect.stringContaining('aw doctor') as string,
    })
  } finally {
    closeSync(directory)
    rmSync(path, { recursive: true })
  }
})
