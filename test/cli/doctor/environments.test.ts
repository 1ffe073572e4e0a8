/** What `aw doctor` says, and what a refused sandbox says, where something is missing: for real, as an ordinary user. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fixes } from '../../../src/domain/sandbox/fixes.ts'
import { addonName } from '../../../src/sys/syscalls/calls-addon.ts'
import type { Finding } from '../../../src/sys/home/inspect.ts'
import { inRoot } from '../../../tools/root.ts'
import { launcher } from '../built-command.ts'

const ordinary = 65_534

interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A home of an ordinary user, or of root, and the built command in surroundings that surroundings.py makes. */
function place(what: string, prepare: (folder: string) => void = () => undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'aw-doctor-'))
  chmodSync(folder, 0o755)
  prepare(folder)
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  if (what !== 'root') chownSync(home, ordinary, ordinary)
  const aw = (...args: readonly string[]): Ran => {
    const command = [inRoot('test/cli/doctor/environments.py'), what, process.execPath, launcher, ...args]
    const { status, stdout, stderr } = spawnSync('/usr/bin/python3', command, {
      encoding: 'utf8',
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', AW_HOME: home, HOME: folder },
      timeout: 60_000,
    })
    return { code: status, stdout, stderr }
  }
  return {
    aw,
    doctor: () => findingsOf(aw('doctor', '--json')),
    [Symbol.dispose]: () => {
      spawnSync('umount', ['-q', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function findingsOf({ stdout, stderr }: Ran): Map<string, Finding> {
  if (!stdout.startsWith('{')) throw new Error(stderr)
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  return new Map(findings.map((finding) => [finding.name, finding]))
}

const walls = ['user', 'privileges', 'descriptors', 'files', 'processes', 'namespaces', 'mounts', 'calls', 'network']
const levels = ['none', 'guarded', 'namespace']

/** Levels that work, and walls that do not hold. */
const verdicts = (findings: Map<string, Finding>) => ({
  work: levels.filter((level) => findings.get(`sandbox ${level}`)?.message.startsWith('works')),
  open: [...findings.values()].filter(({ name, status }) => name.startsWith('wall ') && status !== 'ok'),
})

describe.each(['an ordinary user', 'root'])('as %s', (who) => {
  test('every level works and every wall holds', () => {
    using here = place(who === 'root' ? 'root' : 'plain')
    const findings = here.doctor()
    expect(verdicts(findings)).toEqual({ work: levels, open: [] })
    for (const wall of walls) {
      expect(findings.get(`wall ${wall}`)?.message).toMatch(/^held at guarded and namespace: /)
    }
    expect(findings.get('wall proxy')?.message).toBe(
      'held at namespace: lets through what is on the list, and nothing else',
    )
    expect(findings.get('sandbox limits')?.message).toContain(
      who === 'root' ? 'processes by a cgroup' : 'cpu_percent by nobody',
    )
    expect(findings.get('sandbox limits')?.hint).toBe(who === 'root' ? null : fixes.cgroups)
  })
})

/** What is missing, which levels are left, which one is the trouble, and what is said to do about it. */
const lacking = [
  ['no-user-namespaces', ['none', 'guarded'], 'namespace', fixes.maxUserNamespaces],
  ['container-filter', ['none', 'guarded'], 'namespace', fixes.container],
  ['without:/usr/bin/bwrap', ['none', 'guarded'], 'namespace', fixes.bubblewrap],
  ['without:/proc/fs', ['none', 'guarded'], 'namespace', fixes.containerProc],
  ['no-landlock', ['none', 'namespace'], 'guarded', fixes.landlock],
  [`without:${inRoot(addonName('x64'))}`, ['none', 'namespace'], 'guarded', fixes.calls],
] as const

test.each(lacking)('%s: %j are left, and the fix is told', (what, work, broken, fix) => {
  using here = place(what)
  const findings = here.doctor()
  expect(verdicts(findings)).toEqual({ work, open: [] })
  expect(findings.get(`sandbox ${broken}`)).toEqual(
    expect.objectContaining({ status: broken === 'namespace' ? 'problem' : 'info', hint: fix }),
  )
  // Whoever asks for it is told the same, and nothing runs.
  expect(here.aw('create', 'task/agent').code).toBe(0)
  const { code, stderr } = here.aw('exec', '--isolation', broken, 'task/agent', '--', 'touch', 'ran')
  expect(code).toBe(125)
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(fix.replaceAll(/\s+/g, ' '))
  expect(here.aw('ls', 'task/agent').stdout).not.toContain('ran')
})

describe('a home on', () => {
  test('tmpfs: everything works, and it is told that it does not last', () => {
    using here = place('plain', (folder) => execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'none', folder]))
    const findings = here.doctor()
    expect(verdicts(findings)).toEqual({ work: levels, open: [] })
    expect(findings.get('file system')).toEqual(expect.objectContaining({ status: 'warning' }))
  })

  test.each(['plain', 'root'])('btrfs: everything works (%s)', (what) => {
    using here = place(what, (folder) => {
      const make = 'truncate -s 300M image && mkfs.btrfs -q image && mount -o loop image "$PWD"'
      execFileSync('sh', ['-c', make], { cwd: folder })
    })
    const findings = here.doctor()
    expect(verdicts(findings)).toEqual({ work: levels, open: [] })
    expect(findings.get('file system')?.message).toContain('btrfs')
  })
})
