import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { readAllFiles } from './files.ts'

const top = fs.mkdtempSync(join(tmpdir(), 'aw-files-'))
afterEach(() => fs.rmSync(top, { recursive: true }))

const block = Buffer.alloc(64 * 1024, 'x')

it('reads all data of all files, and no holes', async () => {
  fs.mkdirSync(join(top, 'd'))
  fs.writeFileSync(join(top, 'd/small'), 'small')
  fs.writeFileSync(join(top, 'd/empty'), '')
  fs.writeFileSync(join(top, 'd/large'), Buffer.alloc(3 * 1024 * 1024 + 1, 'x'))
  fs.writeFileSync(join(top, 'hole'), '')
  fs.truncateSync(join(top, 'hole'), 8 * 2 ** 40)
  const fd = fs.openSync(join(top, 'sparse'), 'w')
  for (const at of [0, 2 ** 40, 8 * 2 ** 40]) fs.writeSync(fd, block, 0, block.length, at)
  fs.closeSync(fd)
  const read = await readAllFiles(top, AbortSignal.timeout(4000))
  expect(read).toMatchObject({ method: 'checksums', files: 5, problems: [] })
  const data = 5 + 3 * 1024 * 1024 + 1 + 3 * block.length
  expect(read.bytes).toBeGreaterThanOrEqual(data)
  // A step may read beyond the end of what is there.
  expect(read.bytes).toBeLessThan(data + 3 * 1024 * 1024)
})
