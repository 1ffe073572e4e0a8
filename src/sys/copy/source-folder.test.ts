import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { assertSource } from './source-folder.ts'

let base: string
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-source-'))
})
afterEach(() => fs.rmSync(base, { recursive: true }))

const refusal = (message: string): object => ({
  code: 'source_failed',
  message: expect.stringContaining(message) as string,
  hint: expect.stringMatching(/\w/) as string,
})

it.each(['/proc', '/proc/self', '/sys/kernel'])('%s holds no files', (folder) => {
  expect(() => assertSource(folder, [])).toThrow(expect.objectContaining(refusal('shows what the kernel does')))
})

it('a way that leads nowhere is told', () => {
  const loop = join(base, 'loop')
  fs.symlinkSync('loop', loop)
  expect(() => assertSource(loop, [])).toThrow(expect.objectContaining(refusal('links lead in a circle')))
  const long = join(base, 'a'.repeat(300))
  expect(() => assertSource(long, [])).toThrow(expect.objectContaining(refusal('the path is too long')))
  expect(() => assertSource(base, [])).not.toThrow()
})
