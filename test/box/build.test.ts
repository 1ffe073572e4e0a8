/** The program in the package is the one that its sources make. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { boxProgram } from '../../src/sys/box/program.ts'
import { boxFolder, compileBox, compilerVersion, hashSources, readRecord } from '../../tools/build-box.ts'
import { testFolder } from './harness.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const again = 'Build it again: node tools/build-box.ts'

test('it was built from these sources', async () => {
  const record = await readRecord()
  expect([again, await hashSources()]).toEqual([again, record.sources])
  const binary = readFileSync(boxProgram())
  expect([again, sha256(binary)]).toEqual([again, record.binary])
})

test('the sources make the same bytes again with the same compiler, and no warning with any', async () => {
  const record = await readRecord()
  const made = await compileBox(join(testFolder(), 'aw-box'))
  expect(made).toMatch(/^[0-9a-f]{64}$/)
  const expected = (await compilerVersion()) === record.compiler ? record.binary : made
  expect([again, made]).toEqual([again, expected])
})

test('it is small, needs nothing, and knows no path of ours', () => {
  expect(boxProgram()).toBe(join(boxFolder, 'aw-box'))
  const binary = readFileSync(boxProgram())
  expect(statSync(boxProgram()).mode & 0o777).toBe(0o755)
  expect(binary.length).toBeLessThan(150_000)
  expect(binary.includes('ld-musl')).toBe(false)
  expect(binary.includes(process.cwd())).toBe(false)
})
