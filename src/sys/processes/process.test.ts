import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Owner } from '../../domain/workspace/state.ts'
import { kernelThreads, killProcess, liveness, ownProcess } from './process.ts'

async function sleeper(): Promise<{ child: ChildProcess; owner: Owner }> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const start_time = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  return { child, owner: { ...ownProcess(), pid, start_time } }
}

describe('proof of life', () => {
  it('is found for this process, and for one that was reused', () => {
    expect(liveness(ownProcess())).toBe('alive')
    expect(liveness({ ...ownProcess(), start_time: '1' })).toBe('dead')
  })

  it('goes by the kernel, not by a host name that may change', () => {
    expect(liveness({ ...ownProcess(), host: 'renamed' })).toBe('alive')
    expect(liveness({ ...ownProcess(), boot_id: 'before' })).toBe('dead')
    expect(liveness({ ...ownProcess(), boot_id: 'other', host: 'elsewhere' })).toBe('unknown')
  })

  it('is not to be had in another pid namespace', () => {
    expect(liveness({ ...ownProcess(), pid_namespace: 'pid:[1]' })).toBe('unknown')
  })

  it('ends with the process, also while its parent has not noticed', async () => {
    const { child, owner } = await sleeper()
    expect(liveness(owner)).toBe('alive')
    process.kill(owner.pid, 'SIGKILL')
    await once(child, 'exit')
    expect(liveness(owner)).toBe('dead')
  })
})

/** That all of them are the kernel's by what it says of each: a program that is taken for one would not be seen at work. */
it('threads of the kernel are told from programs', () => {
  const ofTheKernel = 0x20_0000
  const flagsOf = (pid: string): number => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[6])
  }
  // In a container the second process is a program's, or there is none.
  const isHost = existsSync('/proc/2/stat') && (flagsOf('2') & ofTheKernel) !== 0
  const found = kernelThreads()
  expect(found.length > 0).toBe(isHost)
  expect(found.filter((pid) => (flagsOf(pid) & ofTheKernel) === 0)).toEqual([])
})

describe('killing', () => {
  const timeoutMs = 5000

  it('ends the process it was asked for', async () => {
    const { owner } = await sleeper()
    await killProcess(owner, { timeoutMs, confirm: async () => true })
    expect(liveness(owner)).toBe('dead')
  })

  it('leaves it alone if it is not wanted any more, or is another by now', async () => {
    const { owner } = await sleeper()
    await killProcess(owner, { timeoutMs, confirm: async () => false })
    await killProcess({ ...owner, start_time: '1' }, { timeoutMs, confirm: async () => true })
    expect(liveness(owner)).toBe('alive')
  })

  it('is refused where the process cannot be told from others', async () => {
    const far = { ...ownProcess(), pid_namespace: 'pid:[1]' }
    await expect(killProcess(far, { timeoutMs, confirm: async () => true })).rejects.toMatchObject({
      code: 'workspace_busy',
    })
  })

  it('leaves no descriptor behind', async () => {
    const { owner } = await sleeper()
    const open = (): number => readdirSync('/proc/self/fd').length
    const before = open()
    for (let i = 0; i < 20; i++) await killProcess(owner, { timeoutMs, confirm: async () => false })
    expect(open()).toBe(before)
  })
})
