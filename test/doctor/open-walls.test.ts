/** Walls that are not there are found out: the program that tries them, behind none. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findingsOf } from '../../src/drivers/sandbox/findings.ts'
import { noneSandbox } from '../../src/drivers/sandbox/none.ts'
import { type Trial, tryWalls } from '../../src/drivers/sandbox/trial.ts'
import type { Isolation } from '../../src/domain/sandbox/spec.ts'
import type { SandboxDriver } from '../../src/ports/sandbox-driver.ts'

/** A level that says it is another. */
function pretending(run: string, isolation: Isolation): SandboxDriver {
  const none = noneSandbox({ run })
  return {
    ...none,
    isolation,
    start: (name, spec, options) => none.start(name, { ...spec, network: { mode: 'host' } }, options),
  }
}

async function tried(isolation: Isolation): Promise<Trial> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-doctor-'))
  try {
    return await tryWalls(pretending(join(folder, 'run'), isolation), join(folder, 'run'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const absent: Trial = { usable: false, reason: 'not tried', hint: undefined }

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

test('an allow-list that nobody keeps is told', async () => {
  const findings = findingsOf({ none: absent, guarded: absent, namespace: await tried('namespace') }, 'namespace')
  expect(findings.find(({ name }) => name === 'wall proxy')?.status).toBe('problem')
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
