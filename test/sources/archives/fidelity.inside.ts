/** Runs on file systems of their own, started by `round-trip.test.ts`. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { packTree } from '../../../src/drivers/archives/archive/pack.ts'
import { unpackArchive } from '../../../src/drivers/archives/archive/unpack.ts'
import { makeCase, type Told, tellTree } from '../../contracts/storage/host.ts'
import { fidelityCases, sameAttributes, withoutSockets } from './fidelity.ts'

/** Not removed: the image is. */
let base: string
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-archive-'))
})

const unlimited = { depth: 100_000, pathBytes: 1_000_000 }

it.each(fidelityCases)('what was packed is unpacked: %s', async (name) => {
  const [tree, file, copy] = [join(base, 'tree'), join(base, 'a.aw'), join(base, 'copy')]
  for (const directory of [tree, copy]) fs.mkdirSync(directory)
  await makeCase(name, tree)
  const told = withoutSockets(await tellTree(tree))
  await packTree(tree, file, { header: {} })
  expect(withoutSockets(await tellTree(tree))).toEqual(told)
  const { verified, skipped } = await unpackArchive(file, copy, { trusted: true, limits: unlimited })
  expect({ verified, skipped }).toEqual({ verified: true, skipped: [] })
  expect(await tellTree(copy)).toEqual(told)
})

/** `NAME.aw` and what was told about the tree, from another file system. */
const elsewhere = process.env['AW_ARCHIVES']
const others = elsewhere === undefined ? [] : fs.readdirSync(elsewhere).filter((name) => name.endsWith('.aw'))

it.each(others)('what was packed on another file system is unpacked: %s', async (name) => {
  const file = join(elsewhere ?? '', name)
  const told = JSON.parse(fs.readFileSync(`${file}.json`, 'utf8')) as Told
  const copy = join(base, 'copy')
  fs.mkdirSync(copy)
  const unpacking = unpackArchive(file, copy, { trusted: true, limits: unlimited })
  if (name === 'links.aw' && process.env['AW_FILE_SYSTEM'] === 'xfs') {
    // There a link leads to at most 1024 bytes.
    await expect(unpacking).rejects.toMatchObject({
      code: 'source_failed',
      data: { reason: 'link', path: 'very long' },
    })
    return
  }
  expect(await unpacking).toMatchObject({ verified: true })
  expect(sameAttributes(await tellTree(copy))).toEqual(told)
})
