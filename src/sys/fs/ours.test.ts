import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openManager } from '../../aw.ts'

let base: string
beforeEach(() => void (base = fs.mkdtempSync(join(tmpdir(), 'aw-ours-'))))
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

async function open(): Promise<void> {
  const set = { 'storage.root': join(base, 'storage') }
  const manager = await openManager({ home: join(base, 'home'), env: {}, set })
  onTestFinished(() => manager[Symbol.asyncDispose]())
}

const refused = (what: string, command: string): unknown =>
  expect.objectContaining({
    code: 'home_owner_mismatch',
    message: expect.stringContaining(what) as unknown,
    hint: expect.stringContaining(command) as unknown,
  })

describe.each(['home', 'storage'])('the %s', (name) => {
  test.each([0o775, 0o707, 0o1777, 0o770])('is refused with mode %o: others could change it', async (mode) => {
    fs.mkdirSync(join(base, name))
    fs.chmodSync(join(base, name), mode)
    await expect(open()).rejects.toEqual(refused(join(base, name), `chmod go-w ${join(base, name)}`))
    expect(fs.readdirSync(join(base, name))).toEqual([])
  })

  test.each([0o755, 0o700, 0o750])('is used with mode %o', async (mode) => {
    fs.mkdirSync(join(base, name))
    fs.chmodSync(join(base, name), mode)
    await open()
    expect(fs.statSync(join(base, name)).mode & 0o777).toBe(mode)
  })

  test('is for its owner alone when aw makes it', async () => {
    await open()
    expect(fs.statSync(join(base, name)).mode & 0o777).toBe(0o700)
  })

  // Only root can make what belongs to somebody else.
  test.each(process.getuid?.() === 0 ? ['directory', 'link'] : [])('is refused as a %s of another', async (kind) => {
    const real = kind === 'link' ? join(base, 'theirs') : join(base, name)
    fs.mkdirSync(real)
    fs.chownSync(real, 1234, 1234)
    if (kind === 'link') fs.symlinkSync(real, join(base, name))
    await expect(open()).rejects.toEqual(refused('uid 1234', `sudo -u '#1234' aw`))
    expect(fs.readdirSync(real)).toEqual([])
  })
})
