/** Limits are kept by whom the plan says, for root by cgroups, for others as far as the kernel lets them. */
import { describe, expect, it } from 'vitest'
import type { Grade, Limits } from '../../src/domain/sandbox/spec.ts'
import type { Sandbox, SandboxSpec } from '../../src/ports/sandbox-driver.ts'
import { code, ran, startPlanned } from '../contracts/sandbox.ts'
import { openedPlaces, sh } from './fixtures-per-test.ts'
import { isRoot, levels, type LevelName } from './fixture.ts'

const opened = openedPlaces()

async function limited(level: LevelName, limits: Limits, more: Partial<SandboxSpec> = {}): Promise<Sandbox> {
  const { driver, spec } = opened(level)
  return startPlanned(driver, 'box_1', { ...spec, limits, ...more })
}

const grouped: Grade = isRoot ? 'cgroup' : 'rlimit'

describe.each(levels)('limits at level %s', (level) => {
  it('of memory end what takes too much', async () => {
    await using box = await limited(level, { memory_mb: 64 })
    expect(box.plan.grades).toEqual({ memory_mb: grouped })
    const { exit } = await ran(box, ['python3', '-c', 'x = bytearray(300_000_000)'])
    expect(exit.code === 0).toBe(false)
    expect((await ran(box, ['python3', '-c', 'x = bytearray(3_000_000)'])).exit.code).toBe(0)
  })

  it('of open files and of the size of a file are each process’s own', async () => {
    await using box = await limited(level, { open_files: 40, file_size_mb: 1 })
    expect(box.plan.grades).toEqual({ open_files: 'rlimit', file_size_mb: 'rlimit' })
    expect(await sh(box, 'ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc')).toBe('40\n40\n0\n0\n')
    const { exit, stdout } = await ran(box, ['sh', '-c', 'head -c 3000000 /dev/zero > file; stat -c %s file'])
    expect(stdout).toBe(`${1024 * 1024}\n`)
    expect(exit.code).toBe(0)
  })

  it('of one command are the smaller of two', async () => {
    await using box = await limited(level, { open_files: 40 })
    const nofile = async (open_files: number): Promise<string> =>
      (await ran(box, ['sh', '-c', 'ulimit -n'], { limits: { open_files } })).stdout
    expect(await nofile(20)).toBe('20\n')
    expect(await nofile(80)).toBe('40\n')
  })
})

const bomb =
  'import os,time\nn=0\ntry:\n  while n<500:\n    if os.fork()==0: time.sleep(60); os._exit(0)\n    n+=1\nexcept OSError: pass\nprint(n)'

it('of processes stop one that forks without end, in its own box and nowhere else', async () => {
  await using box = await limited('namespace', { processes: 30 })
  expect(box.plan.grades).toEqual({ processes: grouped })
  const { stdout } = await ran(box, ['python3', '-c', bomb])
  expect(Number(stdout)).toBeGreaterThan(20)
  expect(Number(stdout)).toBeLessThan(40)
  await using other = await limited('namespace', { processes: 30 })
  expect(await sh(other, 'echo unharmed')).toBe('unharmed\n')
  await box.stop({ graceMs: 0 })
})

const asked: Limits = { cpu_percent: 50, processes: 40 }

it.each(levels)('that nobody keeps are refused if they were asked for: level %s', async (level) => {
  const { driver, spec } = opened(level)
  const wanted = { ...spec, limits: asked }
  if (isRoot) {
    expect((await driver.plan(wanted)).grades).toEqual({ cpu_percent: 'cgroup', processes: 'cgroup' })
    return
  }
  await expect(driver.plan(wanted)).rejects.toEqual(code('sandbox_unenforceable'))
  expect(await driver.list()).toEqual([])
  const { grades, notes } = await driver.plan({ ...spec, defaults: asked })
  const processes = level === 'namespace' ? 'rlimit' : 'none'
  expect(grades).toEqual({ cpu_percent: 'none', processes })
  expect(notes.join()).toContain('nobody keeps cpu_percent')
})

it('are refused without a cgroup, where one is required', async () => {
  const { driver, spec } = opened('namespace')
  const strict = { ...spec, cgroupRequired: true }
  await expect(driver.plan({ ...strict, defaults: { open_files: 9 } })).resolves.toEqual({
    grades: { open_files: 'rlimit' },
    notes: [],
  })
  const held = driver.plan({ ...strict, defaults: { memory_mb: 100 } })
  if (isRoot) expect((await held).grades).toEqual({ memory_mb: 'cgroup' })
  else await expect(held).rejects.toEqual(code('sandbox_unenforceable'))
})

it('of the processor make it slower', async () => {
  const { driver, spec } = opened('namespace')
  const slow = startPlanned(driver, 'box_1', { ...spec, limits: { cpu_percent: 20 } })
  if (!isRoot) {
    await expect(slow).rejects.toEqual(code('sandbox_unenforceable'))
    return
  }
  await using box = await slow
  const { exit } = await ran(box, ['python3', '-c', 'import time\nwhile time.process_time() < 0.4: pass'])
  expect(exit.duration_ms).toBeGreaterThan(2 * exit.cpu_ms)
})
