/** Whoever is in the middle of something is killed or stopped: the others are told, and nothing is left behind. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { code } from '../contracts/sandbox.ts'
import { alive, openSandboxHome, type SandboxHome, untilOutput } from './home.ts'
import { isRoot } from './fixture.ts'

const program = fileURLToPath(new URL('../crash/program.ts', import.meta.url))
const id = 'killed'
const endless = ['sh', '-c', 'echo begun; exec sleep 1000']

async function startedHome(whenDone = onTestFinished): Promise<SandboxHome & { sandbox: string }> {
  const at = await openSandboxHome(whenDone)
  await at.make(id)
  const { sandbox } = await at.manager.call('start', { id })
  return { ...at, sandbox: sandbox?.id ?? '' }
}

/** A command that has begun, and the stream that tells of it. */
async function begun({ manager }: SandboxHome): Promise<AsyncIterator<Outputs['exec']>> {
  const items = manager.stream('exec', { id, argv: endless })[Symbol.asyncIterator]()
  await untilOutput(items)
  return items
}

/** It can be used as if nothing had been, and nothing of before is there. */
async function expectWhole({ manager, run, boxes }: SandboxHome): Promise<void> {
  expect((await run({ id, argv: ['echo', 'whole'] })).stdout).toBe('whole\n')
  expect(await manager.call('show', { id })).toMatchObject({ sandbox: null, commands: 0, operation: null })
  expect(boxes()).toEqual([])
  const { sandbox } = await manager.call('start', { id })
  expect((await run({ id, argv: ['echo', 'again'] })).stdout).toBe('again\n')
  expect(boxes()).toEqual([sandbox?.id])
  await manager.call('stop', { id })
  expect(boxes()).toEqual([])
}

it.each(['its supervisor', 'its first process', 'process 1 inside'] as const)(
  'a sandbox ends with %s, and so do its commands',
  async (who) => {
    const at = await startedHome()
    const owners = at.ownersOf(at.sandbox)
    const items = await begun(at)
    const pid = {
      'its supervisor': owners.supervisor,
      'its first process': owners.inside[0],
      'process 1 inside': owners.inside[1],
    }[who]?.pid
    process.kill(pid ?? 0, 'SIGKILL')
    await expect(items.next()).rejects.toEqual(code('sandbox_gone'))
    await expect.poll(() => alive(owners)).toEqual([])
    // The next command is told once, since it was meant for that sandbox.
    await expect(at.run({ id, argv: ['true'] })).rejects.toEqual(code('sandbox_gone'))
    const history = await at.manager.call('history', { id })
    expect(history).toMatchObject([{ state: 'failed', problem: { code: 'sandbox_gone' } }])
    await expectWhole(at)
  },
)

/** Another process that runs a command there. */
async function elsewhere({ home }: SandboxHome, ...argv: string[]): Promise<ChildProcess> {
  const ready = join(home, 'workspaces', id, 'main', 'work', 'ready')
  const input = { id, argv: ['sh', '-c', `: > ready; exec "$@"`, 'sh', ...argv] }
  const child = spawn(process.execPath, [program, 'call', home, 'exec', JSON.stringify(input)], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await expect.poll(() => fs.existsSync(ready), { timeout: 30_000 }).toBe(true)
  return child
}

it('a command ends with the process that runs it, and so does a sandbox of its own', async () => {
  const at = await openSandboxHome()
  await at.make(id)
  const child = await elsewhere(at, 'sleep', '1000')
  const [sandbox = ''] = at.boxes()
  const owners = at.ownersOf(sandbox)
  expect(alive(owners)).toHaveLength(3)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await expect.poll(() => alive(owners), { timeout: 20_000 }).toEqual([])
  expect((await at.manager.call('show', { id })).commands).toBe(1)
  await at.manager.call('recover', {})
  expect(at.boxes()).toEqual([])
  expect(await at.manager.call('history', { id })).toMatchObject([{ state: 'failed', problem: { code: 'lost' } }])
  await expectWhole(at)
})

it('a sandbox that was started stays when a process that runs a command in it is killed; the command does not', async () => {
  const at = await startedHome()
  const owners = at.ownersOf(at.sandbox)
  const child = await elsewhere(at, 'sleep', `1000.${process.pid}`)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const left = async (): Promise<string> =>
    (await at.run({ id, argv: ['sh', '-c', 'cat /proc/[0-9]*/cmdline'] })).stdout
  await expect.poll(left, { timeout: 20_000 }).not.toContain(`1000.${process.pid}`)
  expect(alive(owners)).toHaveLength(3)
  const [lost, ...others] = await at.manager.call('history', { id })
  expect(lost).toMatchObject({ state: 'failed', problem: { code: 'lost' } })
  expect(others.every(({ exit }) => exit?.code === 0)).toBe(true)
  await at.manager.call('stop', { id })
  await expectWhole(at)
})

/** All at once: most of the time they wait for somebody who does not answer. */
describe.concurrent('a supervisor that is stopped', () => {
  it('does not keep waiting whoever has had enough of a command', async ({ onTestFinished: whenDone }) => {
    const at = await startedHome(whenDone)
    const stop = new AbortController()
    const items = at.manager.stream('exec', { id, argv: endless }, { signal: stop.signal })[Symbol.asyncIterator]()
    await untilOutput(items)
    await expectTimeout(at, () => {
      const running = items.next()
      stop.abort()
      return running
    })
  })

  it.for([
    ['a command that would begin', (at: SandboxHome) => at.run({ id, argv: ['true'] })],
    ['a snapshot', (at: SandboxHome) => at.manager.call('snapshot', { id })],
    ['who would destroy', (at: SandboxHome) => at.manager.call('destroy', { id })],
  ] as const)('does not keep waiting %s', async ([, act], { onTestFinished: whenDone }) => {
    const at = await startedHome(whenDone)
    await expectTimeout(at, () => act(at))
  })

  it.for([
    ['stop', (at: SandboxHome) => at.manager.call('stop', { id })],
    ['restore', (at: SandboxHome, snapshot: string) => at.manager.call('restore', { id, snapshot, restart: true })],
    ['destroy', (at: SandboxHome) => at.manager.call('destroy', { id, force: true })],
  ] as const)('for a command is ended by %s', async ([what, act], { onTestFinished: whenDone }) => {
    const at = await openSandboxHome(whenDone)
    await at.make(id)
    const snapshot = await at.manager.call('snapshot', { id })
    const items = await begun(at)
    const [sandbox = ''] = at.boxes()
    const owners = at.ownersOf(sandbox)
    process.kill(owners.supervisor.pid, 'SIGSTOP')
    await act(at, snapshot.id)
    expect(alive(owners)).toEqual([])
    await expect(items.next()).rejects.toEqual(code('sandbox_gone'))
    expect(at.boxes()).toEqual([])
    if (what !== 'destroy') await expectWhole(at)
  })
})

/** What is done while the supervisor of a sandbox is stopped; then it is ended by stop. */
async function expectTimeout(at: SandboxHome & { sandbox: string }, act: () => Promise<unknown>): Promise<void> {
  const owners = at.ownersOf(at.sandbox)
  process.kill(owners.supervisor.pid, 'SIGSTOP')
  await expect(act()).rejects.toEqual(code('timeout'))
  expect(alive(owners)).toHaveLength(3)
  await at.manager.call('stop', { id })
  expect(alive(owners)).toEqual([])
  await expectWhole(at)
}

/** As after a start of the machine: another boot id, and none of the processes. */
it('after a restart of the machine nothing is believed to run, and nobody is mistaken for it', async () => {
  const at = await startedHome()
  const owners = at.ownersOf(at.sandbox)
  const child = await elsewhere(at, 'sleep', '1000')
  child.kill('SIGKILL')
  process.kill(owners.supervisor.pid, 'SIGKILL')
  await expect.poll(() => alive(owners)).toEqual([])
  const bystander = spawn('sleep', ['1000'])
  onTestFinished(() => void bystander.kill('SIGKILL'))
  const taken = { ...owners.supervisor, pid: bystander.pid ?? 0, start_time: startTime(bystander.pid) }
  fs.writeFileSync(
    join(at.home, 'run', at.sandbox, 'owner.json'),
    JSON.stringify({ supervisor: { ...taken, boot_id: 'before' }, inside: [{ ...taken, boot_id: 'before' }] }),
  )
  recoverAfterBoot(at)
  expect(at.boxes()).toEqual([])
  expect(bystander.exitCode).toBeNull()
  await expectWhole(at)
})

it('a run that a restart of the machine has ended has failed, and says why; its output is there', async () => {
  const at = await openSandboxHome()
  for await (const _ of at.manager.stream('run', { id, argv: endless, detach: true })) continue
  const written = async (): Promise<string> => {
    let text = ''
    for await (const { data } of at.manager.stream('logs', { id })) text += Buffer.from(data as Uint8Array).toString()
    return text
  }
  await expect.poll(written).toBe('begun\n')
  const [sandbox = ''] = at.boxes()
  const owners = at.ownersOf(sandbox)
  process.kill(owners.supervisor.pid, 'SIGKILL')
  await expect.poll(() => alive(owners)).toEqual([])
  recoverAfterBoot(at)
  const problem = { code: 'lost', message: 'the machine was started anew' }
  expect(await at.manager.call('runs', { id })).toMatchObject([{ state: 'failed', exit: null, problem }])
  expect(await written()).toBe('begun\n')
  await expectWhole(at)
})

function recoverAfterBoot({ home }: SandboxHome): void {
  const boot = join(home, 'boot-id')
  fs.writeFileSync(boot, '11111111-2222-3333-4444-555555555555\n')
  const { stdout, stderr } = afterBoot(boot, [process.execPath, program, 'call', home, 'recover', '{}'])
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toMatchObject({ result: { failed: [], busy: [] } })
}

const startTime = (pid = 0): string =>
  execFileSync('cut', ['-d', ' ', '-f22', `/proc/${pid}/stat`], { encoding: 'utf8' }).trim()

/** Runs something that reads another boot id. An ordinary user needs a user namespace to mount it, and is itself in a second one. */
function afterBoot(boot: string, command: readonly string[]): { stdout: string; stderr: string } {
  const same = isRoot
    ? []
    : ['unshare', '--user', `--map-user=${process.getuid?.()}`, `--map-group=${process.getgid?.()}`]
  const script = 'mount --bind "$1" /proc/sys/kernel/random/boot_id; shift; exec "$@"'
  const mounted = ['--mount', ...(isRoot ? [] : ['--user', '--map-root-user']), 'sh', '-ec', script, 'sh', boot]
  return spawnSync('unshare', [...mounted, ...same, ...command], { encoding: 'utf8' })
}
