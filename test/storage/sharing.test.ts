import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

/** In a namespace of its own, so that the mount goes with the program that is run there, however it ends. */
function onBtrfs(program: string): unknown {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-sharing-'))
  onTestFinished(() => {
    for (const path of [base, `${base}.img`]) fs.rmSync(path, { recursive: true, force: true })
  })
  const script =
    'truncate -s 256M "$1.img"; mkfs.btrfs -q "$1.img" >/dev/null; mount -o loop "$1.img" "$1"; shift; exec "$@"'
  const file = fileURLToPath(new URL(program, import.meta.url))
  const args = ['--mount', 'sh', '-ec', script, 'sh', base, process.execPath, file, base]
  const { stdout, stderr, status } = spawnSync('unshare', args, { encoding: 'utf8' })
  expect(`${stderr}${status}`).toBe('0')
  return JSON.parse(stdout)
}

it('a copy shares its blocks with the folder where the file system can, and is a copy all the same', () => {
  const { imported, grownBy, size, copy, original } = onBtrfs('../support/programs/share-blocks.ts') as Shared
  expect(imported).toMatchObject({ files: 2, reflinked: 2, skipped: 0 })
  expect(grownBy).toBeLessThan(size / 4)
  expect({ copy, original }).toEqual({ copy: 'changed in the workspace', original: 'as it was' })
})

interface Shared {
  readonly imported: unknown
  readonly grownBy: number
  readonly size: number
  readonly copy: string
  readonly original: string
}
