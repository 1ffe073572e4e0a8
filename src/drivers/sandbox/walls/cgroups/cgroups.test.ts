import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { groupDirectories, groupFacts, makeGroup, removeGroup } from './group.ts'
import { type CgroupSystem, findCgroups } from './hierarchies.ts'

const made: string[] = []

afterEach(() => {
  for (const path of made.splice(0)) fs.rmSync(path, { recursive: true, force: true })
})

/** Files with the names that the kernel gives them; nothing behind them. */
function fakeSystem(mounts: string, own: string, isRoot: boolean): CgroupSystem & { readonly base: string } {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-cgroups-'))
  made.push(base)
  const system = { mounts: join(base, 'mounts'), own: join(base, 'own'), isRoot, base }
  fs.writeFileSync(system.mounts, mounts.replaceAll('BASE', base))
  fs.writeFileSync(system.own, own)
  return system
}

function put(directory: string, files: Record<string, string>): void {
  fs.mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(join(directory, name), text)
}

const read = (...path: string[]): string => fs.readFileSync(join(...path), 'utf8')

describe('cgroup v2, in a directory that only looks like one', () => {
  const unified = 'cgroup2 BASE/unified cgroup2 rw,nosuid 0 0\n'
  const all = { 'cgroup.controllers': 'cpuset cpu io memory pids', 'cgroup.subtree_control': '' }

  /** The kernel would make these in each new group. */
  const groupFiles = {
    'cgroup.procs': '',
    'memory.max': '',
    'memory.swap.max': '',
    'memory.peak': '4096',
    'memory.events': 'low 0\nmax 3\noom 2\noom_kill 2\n',
    'cpu.max': '',
    'pids.max': '',
  }

  it('hands the controllers down and sets the limits of a group', () => {
    const system = fakeSystem(unified, '0::/\n', true)
    const root = join(system.base, 'unified')
    put(root, all)
    put(join(root, 'aw'), { 'cgroup.subtree_control': '' })
    put(join(root, 'aw', 'box'), groupFiles)
    const found = findCgroups(system)
    const place = { version: 2, path: join(root, 'aw') }
    expect(found).toEqual({ places: { memory: place, cpu: place, pids: place }, problems: {} })
    expect(read(root, 'cgroup.subtree_control')).toBe('+memory +cpu +pids')
    expect(read(root, 'aw', 'cgroup.subtree_control')).toBe('+memory +cpu +pids')
    expect(groupDirectories(found, 'box')).toEqual([join(root, 'aw', 'box')])

    makeGroup(found, 'box', { memoryBytes: 64 * 1024 * 1024, cpuPercent: 150, processes: 32 })
    const [box = ''] = groupDirectories(found, 'box')
    expect(read(box, 'memory.max')).toBe('67108864')
    expect(read(box, 'memory.swap.max')).toBe('0')
    expect(read(box, 'cpu.max')).toBe('150000 100000')
    expect(read(box, 'pids.max')).toBe('32')
    expect(groupFacts([box])).toEqual({ processes: 0, peakMemoryBytes: 4096, outOfMemory: 2 })
  })

  it('ends all of a group at once where the kernel can', async () => {
    const system = fakeSystem(unified, '0::/\n', true)
    const box = join(system.base, 'unified', 'aw', 'box')
    put(box, { 'cgroup.kill': '', 'cgroup.procs': '' })
    await expect(removeGroup([box], 1)).rejects.toEqual(expect.objectContaining({ code: 'timeout' }))
    expect(read(box, 'cgroup.kill')).toBe('1')
  })

  it('uses the part that was handed over to an ordinary user: the group above its own', () => {
    const system = fakeSystem(unified, '0::/user.slice/app.slice/run.scope\n', false)
    const root = join(system.base, 'unified')
    put(root, all)
    const slice = join(root, 'user.slice', 'app.slice')
    put(slice, { 'cgroup.subtree_control': 'memory cpu pids' })
    put(join(slice, 'aw'), { 'cgroup.subtree_control': 'memory cpu pids' })
    // Its own is not to be written to.
    put(join(slice, 'run.scope'), {})
    const place = { version: 2, path: join(slice, 'aw') }
    expect(findCgroups(system).places).toEqual({ memory: place, cpu: place, pids: place })
  })

  it('says what is missing', () => {
    const system = fakeSystem(unified, '0::/\n', true)
    put(join(system.base, 'unified'), { 'cgroup.controllers': 'hugetlb', 'cgroup.subtree_control': '' })
    expect(findCgroups(system)).toEqual({
      places: {},
      problems: {
        memory: 'no cgroup has the controller memory',
        cpu: 'no cgroup has the controller cpu',
        pids: 'no cgroup has the controller pids',
      },
    })
    expect(findCgroups(fakeSystem('', '', true)).places).toEqual({})
  })

  it('takes from version 1 what version 2 does not have', () => {
    const system = fakeSystem(`${unified}cgroup BASE/pids cgroup rw,pids 0 0\n`, '0::/\n', true)
    put(join(system.base, 'unified'), { 'cgroup.controllers': 'memory', 'cgroup.subtree_control': 'memory' })
    put(join(system.base, 'unified', 'aw'), { 'cgroup.subtree_control': 'memory' })
    fs.mkdirSync(join(system.base, 'pids'))
    expect(findCgroups(system).places).toEqual({
      memory: { version: 2, path: join(system.base, 'unified', 'aw') },
      pids: { version: 1, path: join(system.base, 'pids', 'aw') },
    })
  })

  it('removes nothing that is no group of ours', async () => {
    const system = fakeSystem('', '', true)
    const other = join(system.base, 'other', 'box')
    fs.mkdirSync(other, { recursive: true })
    await expect(removeGroup([other], 1)).rejects.toEqual(expect.objectContaining({ code: 'internal' }))
    expect(fs.existsSync(other)).toBe(true)
  })
})

describe('the cgroups of this machine', () => {
  it('hold what is in a group, and are gone with it', async () => {
    const found = findCgroups()
    const name = `test-${process.pid}`
    const directories = groupDirectories(found, name)
    expect(directories.length).toBeGreaterThan(0)
    try {
      makeGroup(found, name, { processes: 1 })
      makeGroup(found, name, { processes: 3 })
      const join = directories.map((directory) => `echo $$ > ${directory}/cgroup.procs`).join('; ')
      // It forks as long as it may, and what it leaves has another parent by then.
      const script = `${join}; for i in 1 2 3 4 5; do (sleep 1000 &) ; done; sleep 1000`
      const child = spawn('sh', ['-c', script], { stdio: 'ignore' })
      child.unref()
      await expect.poll(() => groupFacts(directories).processes).toBeGreaterThan(1)
      expect(groupFacts(directories).processes).toBeLessThanOrEqual(3)
    } finally {
      await removeGroup(directories, 10_000)
    }
    expect(directories.filter((path) => fs.existsSync(path))).toEqual([])
    await removeGroup(directories, 10_000)
  })
})
