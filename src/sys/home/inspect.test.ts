import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { inspectHost } from './inspect.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-inspect-'))
  vi.stubEnv('PATH', folder)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

async function git(script?: string) {
  if (script !== undefined) {
    writeFileSync(join(folder, 'git'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, 'git'), 0o755)
  }
  const findings = await inspectHost({ home: '/usr', storageRoot: '/usr' })
  return findings.find(({ name }) => name === 'git')
}

it('a git that works is named with its version', async () => {
  expect(await git('echo git version 2.50.0')).toMatchObject({ status: 'ok', message: 'git version 2.50.0' })
})

it('a machine without git is told so', async () => {
  expect(await git()).toMatchObject({ status: 'info', message: 'git is not installed' })
})

it('a git that does not answer in time is not called missing', async () => {
  const program = join(folder, 'git')
  expect(await git('exec /bin/sleep 600')).toEqual({
    name: 'git',
    status: 'warning',
    message: `${program} --version did not answer within 5 s`,
    hint: 'Run it yourself to see what holds it up, or try again when the machine is less busy',
  })
}, 60_000)

it('a git that fails is not called missing, and says why', async () => {
  expect(await git('echo broken library >&2; exit 3')).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('broken library') as string,
  })
})
