/** Many sandboxes and many commands at once, by one process, in a real home. AW_STRESS=long is the whole of it. */
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { alive, openSandboxHome, type SandboxHome, untilOutput } from './home.ts'

const isLong = process.env['AW_STRESS'] === 'long'
const [sandboxes, commands, megabytes] = isLong ? [50, 20, 100] : [6, 5, 20]
const mebibyte = 1024 * 1024

const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number)

/** What this process and this home have on the machine. */
const held = ({ home, boxes }: SandboxHome) => ({
  descriptors: fs.readdirSync('/proc/self/fd').length,
  boxes: boxes(),
  groups: fs
    .globSync(['/sys/fs/cgroup/aw/*', '/sys/fs/cgroup/*/aw/*'])
    .filter((path) => path.endsWith(createHash('sha256').update(join(home, 'run')).digest('hex').slice(0, 8))),
  mounts: fs
    .readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(home) || line.includes('/run/aw/stage')),
})

it(`${sandboxes} sandboxes with ${commands} commands each: none is mixed up with another, none is left behind`, async () => {
  const at = await openSandboxHome()
  const { manager, make, run } = at
  // Once before, so that what is loaded and opened only once is there.
  await make('first')
  await manager.call('start', { id: 'first' })
  await run({ id: 'first', argv: ['true'] })
  await manager.call('stop', { id: 'first' })
  const before = held(at)

  const ids = numbers(sandboxes).map((number) => `box-${number}`)
  const started = await Promise.all(
    ids.map(async (id) => {
      await make(id)
      return manager.call('start', { id })
    }),
  )
  const owners = started.map(({ sandbox }) => at.ownersOf(sandbox?.id ?? ''))
  expect(new Set(owners.map(({ supervisor }) => supervisor.pid)).size).toBe(sandboxes)
  expect(at.boxes().toSorted()).toEqual(started.map(({ sandbox }) => sandbox?.id ?? '').toSorted())

  const script = 'echo "$1" >> told; echo "$AW_TASK $1"; exit "$2"'
  await Promise.all(
    ids.flatMap((id) =>
      numbers(commands).map(async (number) => {
        const { stdout, end } = await run({ id, argv: ['sh', '-c', script, 'sh', `${id}.${number}`, `${number}`] })
        expect([stdout, end.code, end.workspace]).toEqual([`${id} ${id}.${number}\n`, number, `${id}/main`])
      }),
    ),
  )
  for (const { path, task } of started) {
    const told = fs.readFileSync(join(path, 'work/told'), 'utf8').trimEnd().split('\n')
    expect(told.toSorted()).toEqual(
      numbers(commands)
        .map((number) => `${task}.${number}`)
        .toSorted(),
    )
    expect(await manager.call('history', { id: task })).toHaveLength(commands)
  }

  await Promise.all(ids.map((id) => manager.call('stop', { id })))
  expect(owners.flatMap(alive)).toEqual([])
  await expect.poll(() => held(at)).toEqual(before)
}, 600_000)

it('commands of their own sandboxes at once leave nothing behind', async () => {
  const at = await openSandboxHome()
  const ids = numbers(isLong ? 20 : 5).map((number) => `own-${number}`)
  for (const id of ids) await at.make(id)
  await at.run({ id: 'own-0', argv: ['true'] })
  const before = held(at)
  const all = await Promise.all(
    ids.flatMap((id) => [1, 2].map((number) => at.run({ id, argv: ['sh', '-c', `echo "$AW_TASK" ${number}`] }))),
  )
  expect(all.map(({ stdout }) => stdout)).toEqual(ids.flatMap((id) => [1, 2].map((number) => `${id} ${number}\n`)))
  await expect.poll(() => held(at)).toEqual(before)
}, 300_000)

async function startedHome(): Promise<SandboxHome & { owners: ReturnType<SandboxHome['ownersOf']> }> {
  const at = await openSandboxHome()
  await at.make('a')
  const { sandbox } = await at.manager.call('start', { id: 'a' })
  return { ...at, owners: at.ownersOf(sandbox?.id ?? '') }
}

it('20 commands of one sandbox run at the same time', async () => {
  const { run } = await startedHome()
  // Each waits for all the others.
  const script = 'mkdir -p here; : > here/$1; until [ $(ls here | wc -l) = 20 ]; do sleep 0.05; done'
  const all = await Promise.all(
    numbers(20).map((number) => run({ id: 'a', argv: ['sh', '-c', script, 'sh', `${number}`], timeout_ms: 60_000 })),
  )
  expect(all.map(({ end }) => [end.code, end.timed_out])).toEqual(numbers(20).map(() => [0, false]))
})

/** The most that a process has had in memory so far. */
const peakOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024

it('readers that stop hold up nobody else, and what waits for them is small', async () => {
  const { run, manager, owners } = await startedHome()
  const floods = numbers(4).map(() =>
    manager.stream('exec', { id: 'a', argv: ['sh', '-c', 'yes; :'] })[Symbol.asyncIterator](),
  )
  for (const items of floods) await untilOutput(items)
  // Nobody reads on; the others are done one after another, and one of them says much.
  for (const number of numbers(10))
    expect((await run({ id: 'a', argv: ['echo', `${number}`] })).stdout).toBe(`${number}\n`)
  expect((await run({ id: 'a', argv: ['head', '-c', '5000000', '/dev/zero'] })).stdout).toHaveLength(5_000_000)
  for (const items of floods) await items.return?.()
  expect((await manager.call('history', { id: 'a' })).filter(({ state }) => state === 'running')).toEqual([])
  for (const { pid } of [owners.supervisor, ...owners.inside]) expect(peakOf(pid)).toBeLessThan(16 * mebibyte)
})

it(`${megabytes} MB for a slow reader stay in the command: supervisor, process 1 and this process stay small`, async () => {
  const { manager, owners } = await startedHome()
  const bytes = megabytes * mebibyte
  const before = process.memoryUsage().rss
  let [read, largest, chunks, end] = [0, 0, 0, undefined as Outputs['exec'] | undefined]
  for await (const item of manager.stream('exec', { id: 'a', argv: ['head', '-c', `${bytes}`, '/dev/zero'] })) {
    read += item.data?.length ?? 0
    end = item
    if (++chunks % 50 !== 0) continue
    largest = Math.max(largest, process.memoryUsage().rss)
    await sleep(2)
  }
  expect([read, end?.code]).toEqual([bytes, 0])
  expect(largest - before).toBeLessThan(96 * mebibyte)
  for (const { pid } of [owners.supervisor, ...owners.inside]) expect(peakOf(pid)).toBeLessThan(16 * mebibyte)
}, 300_000)
