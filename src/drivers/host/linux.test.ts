import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toAwError } from '../../domain/errors.ts'
import { linuxHost } from './linux.ts'

test('the name of a lock leads nowhere', async () => {
  const home = mkdtempSync(join(tmpdir(), 'aw-host-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const locks = join(home, 'locks')
  mkdirSync(locks)
  const host = linuxHost({ home, locks, storageRoot: join(home, 'storage'), avoid: [] })
  for (const name of ['../out', '/out', 'a/../../out', 'a\0', '', 'ü'.repeat(101)]) {
    const refused = await host.lock(name, { timeoutMs: 0 }).catch(toAwError)
    expect(refused).toMatchObject({ code: 'invalid_input' })
  }
  expect(existsSync(join(home, 'out.lock'))).toBe(false)
  using held = await host.lock('a'.repeat(200), { timeoutMs: 0 })
  expect(held).toBeDefined()
  expect(readdirSync(locks)).toEqual([`${'a'.repeat(200)}.lock`])
})
