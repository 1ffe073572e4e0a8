/** Walls that are not there are found out: the program that tries them, behind none. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { findingsOf } from '../../../src/drivers/sandbox/findings.ts'
import { noneSandbox } from '../../../src/drivers/sandbox/none.ts'
import { parseWallChecks, testWalls, type WallTrial } from '../../../src/drivers/sandbox/wall-trial.ts'
import type { Isolation } from '../../../src/domain/sandbox/spec.ts'
import { boxProgram } from '../../../src/drivers/sandbox/box/program.ts'
import type { SandboxDriver } from '../../../src/ports/sandbox-driver.ts'

/** A level that says it is another. */
function pretending(run: string, isolation: Isolation): SandboxDriver {
  const none = noneSandbox({ run })
  return {
    ...none,
    isolation,
    plan: (spec) => none.plan({ ...spec, network: { mode: 'host' } }),
  }
}

async function tried(isolation: Isolation): Promise<WallTrial> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-doctor-'))
  try {
    return await testWalls(pretending(join(folder, 'run'), isolation), join(folder, 'run'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const absent: WallTrial = { usable: false, reason: 'not tried', hint: undefined }

test('behind no walls, all that ownership alone does not hold is told', async () => {
  const findings = findingsOf({ none: absent, guarded: await tried('guarded'), namespace: absent }, 'guarded')
  const open = findings.filter(({ name, status }) => name.startsWith('wall ') && status === 'problem')
  expect(open.map(({ name }) => name)).toEqual([
    'wall privileges',
    'wall calls',
    'wall files',
    'wall namespaces',
    'wall network',
    'wall mounts',
  ])
  expect(open.find(({ name }) => name === 'wall files')?.message).toBe(
    'NOT held, against guarded: a file outside cannot be read',
  )
  expect(open.every(({ hint }) => hint !== null)).toBe(true)
})

test('what a level lets through that nobody asked for is a warning', async () => {
  const findings = findingsOf({ none: absent, guarded: await tried('guarded'), namespace: absent }, 'namespace')
  expect(findings.find(({ name }) => name === 'wall files')).toMatchObject({ status: 'warning' })
})

test('an allow-list that nobody keeps is told', async () => {
  const findings = findingsOf({ none: absent, guarded: absent, namespace: await tried('namespace') }, 'namespace')
  expect(findings.find(({ name }) => name === 'wall proxy')?.status).toBe('problem')
})

test('a proxy that answers, but not by its list, was not tried, and that is told as that', async () => {
  const head = 'HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nX-Aw-Reason: log_full\r\n\r\n'
  const proxy = createServer((socket) => socket.on('error', () => undefined).end(head)).listen(0, '127.0.0.1')
  onTestFinished(() => void proxy.close())
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const { stdout } = await promisify(execFile)(boxProgram(), ['walls', '/etc/passwd', `${process.pid}`, '1', `${port}`])
  const tries = parseWallChecks(stdout).filter(({ wall }) => wall === 'proxy')
  const trial: WallTrial = { usable: true, tries, grades: {}, notes: [] }
  const findings = findingsOf({ none: absent, guarded: absent, namespace: trial }, 'namespace')
  const why = '(the proxy says 503 log_full)'
  expect(findings.find(({ name }) => name === 'wall proxy')).toEqual({
    name: 'wall proxy',
    status: 'problem',
    message: `could not be tried at namespace: lets through what is on the list ${why}, and nothing else ${why}`,
    hint: expect.stringContaining('aw gc') as string,
  })
})

test('where nothing works, that is told', () => {
  const findings = findingsOf({ none: absent, guarded: absent, namespace: absent }, 'namespace')
  expect(findings.map(({ name, status }) => [name, status])).toEqual([
    ['sandbox none', 'info'],
    ['sandbox guarded', 'info'],
    ['sandbox namespace', 'problem'],
    ['sandbox limits', 'info'],
  ])
})
