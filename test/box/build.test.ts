/** The programs in the package are the ones that their sources make. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { boxProgram } from '../../src/sys/box/program.ts'
import { copyProgram } from '../../src/sys/copy-program.ts'
import {
  boxFolder,
  compile,
  compilerVersion,
  hashSources,
  type Program,
  programs,
  readRecord,
} from '../../tools/build-box.ts'
import { testFolder } from './harness.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const again = 'Build it again: node tools/build-box.ts'

describe.each(Object.keys(programs) as Program[])('%s', (program) => {
  const found = program === 'aw-box' ? boxProgram() : (copyProgram() ?? 'none')

  test('was built from these sources', async () => {
    const record = await readRecord(program)
    expect([again, await hashSources(program)]).toEqual([again, record.sources])
    expect([again, sha256(readFileSync(found))]).toEqual([again, record.binary])
  })

  test('its sources make the same bytes again with the same compiler, and no warning with any', async () => {
    const record = await readRecord(program)
    const made = await compile(program, join(testFolder(), program))
    expect(made).toMatch(/^[0-9a-f]{64}$/)
    const expected = (await compilerVersion()) === record.compiler ? record.binary : made
    expect([again, made]).toEqual([again, expected])
  })

  test('is small, needs nothing, and knows no path of ours', () => {
    expect(found).toBe(join(boxFolder, program))
    const binary = readFileSync(found)
    expect(statSync(found).mode & 0o777).toBe(0o755)
    expect(binary.length).toBeLessThan(150_000)
    expect(binary.includes('ld-musl')).toBe(false)
    expect(binary.includes(process.cwd())).toBe(false)
  })
})
