import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { tarArchives } from '../tar.ts'
import { hashSteps } from '../../../sys/trees/content-hash.ts'
import { runCancellable } from '../../../sys/trees/run-cancellable.ts'
import { hasDigest } from './digest.ts'

let base: string
let tree: string
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-digest-'))
  tree = join(base, 'tree')
  fs.mkdirSync(tree)
  fs.writeFileSync(join(tree, 'zeros'), Buffer.alloc(300_000))
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const sumOf = (file: string): string => hash('sha256', fs.readFileSync(file))

it('of a file that was written and of one that is read, it is what sha256sum tells', async () => {
  const file = join(base, 'made.aw')
  const packed = await tarArchives.pack(tree, file, { about: {} })
  expect(packed.digest).toBe(sumOf(file))
  expect(packed.content_digest).not.toBe(packed.digest)
  expect(await tarArchives.digest(file)).toBe(packed.digest)
})

it('of a plain tar file with zeros too; what an older log calls it is still the same file', async () => {
  const file = join(base, 'plain.tar')
  execFileSync('tar', ['-cf', file, '-C', tree, 'zeros'])
  expect(await tarArchives.digest(file)).toBe(sumOf(file))
  const fd = fs.openSync(file, 'r')
  const older = (await runCancellable(hashSteps(fd))).hash
  fs.closeSync(fd)
  expect(older).toMatch(/^s[0-9a-f]{64}$/)
  const into = join(base, 'into')
  fs.mkdirSync(into)
  expect(await tarArchives.unpack(file, into, { maxBytes: 1e9, digest: older })).toMatchObject({ files: 1 })
  fs.appendFileSync(file, Buffer.alloc(512))
  expect(await hasDigest(file, older)).toBe(false)
})
