/** A tree in, the same tree out: on every file system that a driver uses, and from one to another. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packTree } from '../../../src/drivers/archives/archive/pack.ts'
import { isRoot, makeCase, tellTree } from '../../contracts/storage/host.ts'
import { type FileSystem, runOnImage } from '../../storage/on-image.ts'
import { fidelityCases, withoutSockets } from './fidelity.ts'

let archives: string

beforeAll(async () => {
  archives = fs.mkdtempSync(join(tmpdir(), 'aw-archives-'))
  fs.chmodSync(archives, 0o755)
  for (const name of fidelityCases) {
    const tree = join(archives, 'tree')
    fs.mkdirSync(tree)
    await makeCase(name, tree)
    fs.writeFileSync(join(archives, `${name}.aw.json`), JSON.stringify(withoutSockets(await tellTree(tree))))
    await packTree(tree, join(archives, `${name}.aw`), { header: {} })
    fs.rmSync(tree, { recursive: true })
  }
})

afterAll(() => fs.rmSync(archives, { recursive: true }))

const runs: readonly { fileSystem: FileSystem; as: 'root' | 'an ordinary user' }[] = [
  { fileSystem: 'ext4', as: 'an ordinary user' },
  { fileSystem: 'btrfs', as: 'root' },
  { fileSystem: 'xfs', as: 'root' },
]

it.each(isRoot ? runs : [])('a tree comes back on $fileSystem as $as', ({ fileSystem, as }) => {
  const env = { AW_FILE_SYSTEM: fileSystem, ...(as === 'root' && { AW_ARCHIVES: archives }) }
  const { passed, failures } = runOnImage({ fileSystem, as, files: ['test/sources/archives/fidelity.inside.ts'], env })
  expect(failures).toEqual([])
  expect(passed).toBe(as === 'root' ? 2 * fidelityCases.length : fidelityCases.length - 4)
})

it('every tree was packed', () => {
  expect(fs.readdirSync(archives).filter((name) => name.endsWith('.aw'))).toHaveLength(fidelityCases.length)
})
