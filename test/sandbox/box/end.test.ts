/** How a box ends, and that nothing of it is left then. */
import { existsSync, mkdirSync, openSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  exec,
  finished,
  initOf,
  launchBox,
  type Level,
  levels,
  processesWith,
  procFile,
  run,
  shell,
  sleeper,
  startBox,
  type TestBox,
  testFolder,
  until,
} from './harness.ts'
import { type RawClient, type, u32 } from './raw.ts'

/** Starts things that try to stay: in sessions of their own, forked twice, deaf to signals. */
async function startDaemons(client: RawClient): Promise<string> {
  const { mark } = sleeper()
  const script = `
    setsid sh -c 'trap "" TERM HUP INT; (sleep ${mark} & sleep ${mark}) & sleep ${mark}' >/dev/null 2>&1 &
    setsid setsid sh -c '(trap "" TERM; exec sleep ${mark}) & exit' >/dev/null 2>&1 &
    sleep 0.2`
  await shell(client, script)
  await until(() => processesWith(`sleep\0${mark}`).length === 4, 'all are up')
  return mark
}

/** One with so much time, with them. On a busy machine it can be over before all are up: then the next one has more. */
async function startLimited(level: Level, ms: number): Promise<{ readonly box: TestBox; readonly mark: string }> {
  const box = await startBox({ level, spec: [['w', ms]] })
  const tooLate = box.ended.then(() => undefined)
  const mark = await Promise.race([startDaemons(box.client).catch(() => tooLate), tooLate])
  return mark === undefined ? startLimited(level, 2 * ms) : { box, mark }
}

async function expectGone(box: TestBox, mark: string, level: string): Promise<void> {
  expect(processesWith(mark)).toEqual([])
  expect([level, procFile(box.first, 'cmdline')]).toEqual([level, ''])
  expect(existsSync(box.socket)).toBe(false)
}

describe.each(levels)('a box of level %s', (level) => {
  test('ends on STOP after the grace, with all that double-forked', async () => {
    const box = await startBox({ level })
    const mark = await startDaemons(box.client)
    box.client.send(type.stop, 1, u32(300))
    await box.client.answer(type.ok, 1)
    await box.client.closed
    await expectGone(box, mark, level)
    expect(await box.ended).toBe(0)
  })

  test('ends on STOP before the grace is over if all have ended', async () => {
    const box = await startBox({ level })
    const id = exec(box.client, ['sh', '-c', `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`])
    await box.client.wait((it) => it.id === id && it.type === type.stdout)
    box.client.send(type.stop, 1, u32(600_000))
    expect(await finished(box.client, id)).toMatchObject({ stdout: 'up\nbye\n', exit: { x: '0' } })
    expect(await box.ended).toBe(0)
  })

  test('takes no more commands once it is ending', async () => {
    const box = await startBox({ level })
    const id = exec(box.client, ['sh', '-c', `trap '' TERM; echo up; while :; do sleep 0.05; done`])
    await box.client.wait((it) => it.id === id && it.type === type.stdout)
    box.client.send(type.stop, 1, u32(500))
    const late = exec(box.client, ['true'])
    await expect(box.client.answer(type.exit, late)).rejects.toThrow(/ending/)
    expect(await box.ended).toBe(0)
  })

  test('ends on SIGTERM', async () => {
    const box = await startBox({ level })
    const mark = await startDaemons(box.client)
    box.supervisor.kill('SIGTERM')
    expect(await box.ended).toBe(0)
    await expectGone(box, mark, level)
  })

  test('ends when its time is over', async () => {
    const { box, mark } = await startLimited(level, 700)
    expect(await box.ended).toBe(0)
    await expectGone(box, mark, level)
  })

  test('ends with its init', async () => {
    const box = await startBox({ level })
    const mark = await startDaemons(box.client)
    process.kill(initOf(box, level), 'SIGKILL')
    expect(await box.ended).toBe(0)
    await expectGone(box, mark, level)
  })

  test('leaves no process when its supervisor is killed', async () => {
    const box = await startBox({ level })
    const mark = await startDaemons(box.client)
    const id = exec(box.client, sleeper().argv)
    await box.client.answer(type.started, id)
    box.supervisor.kill('SIGKILL')
    expect(await box.ended).toBe('SIGKILL')
    await until(() => processesWith(mark).length === 0, 'all are gone')
    await until(() => procFile(box.first, 'cmdline') === '', 'init is gone')
  })

  test('kills the commands of a client that goes, with their sessions, and no others', async () => {
    const box = await startBox({ level })
    const other = await box.connect()
    const [left, right] = [sleeper(), sleeper()]
    const started = [
      exec(other, ['sh', '-c', `set -m; sleep ${left.mark} & sleep ${left.mark}`]),
      exec(other, ['sh', '-c', `yes; sleep ${left.mark}`], [['c', 10]]),
    ]
    for (const id of started) await other.answer(type.started, id)
    const kept = exec(box.client, right.argv)
    await box.client.answer(type.started, kept)
    await until(() => processesWith(`sleep\0${left.mark}`).length === 2, 'they run')
    other.socket.destroy()
    await until(() => processesWith(left.mark).length === 0, 'they are gone')
    expect(processesWith(right.mark)).toHaveLength(1)
    expect((await run(box.client, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('lives on without clients, and is found again', async () => {
    const box = await startBox({ level })
    box.client.socket.destroy()
    const again = await box.connect()
    expect((await run(again, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('of one client ends with its last client', async () => {
    const box = await startBox({ level, spec: [['i', '']] })
    const mark = await startDaemons(box.client)
    const other = await box.connect()
    box.client.socket.destroy()
    expect((await run(other, ['true'])).exit).toMatchObject({ x: '0' })
    other.socket.destroy()
    expect(await box.ended).toBe(0)
    await expectGone(box, mark, level)
  })

  test('is in its cgroups from the start, and takes them away', async () => {
    // Version 1 by both of its files, and version 2, where this machine has them.
    const entrances = ['pids/tasks', 'memory/cgroup.procs', 'unified/cgroup.procs', 'cgroup.procs']
      .filter((file) => existsSync(`/sys/fs/cgroup/${file}`))
      .map((file) => `/sys/fs/cgroup/${dirname(file)}/aw-box-test-${process.pid}/${basename(file)}`)
    const groups = entrances.map((file) => dirname(file))
    expect(groups).not.toEqual([])
    for (const group of groups) mkdirSync(group)
    try {
      const spec = entrances.flatMap((file) => [['c', file] as const, ['C', dirname(file)] as const])
      const box = await startBox({ level, spec })
      const mark = await startDaemons(box.client)
      for (const group of groups) {
        const members = readFileSync(`${group}/cgroup.procs`, 'utf8').trim().split('\n').map(Number)
        expect(members).toEqual(expect.arrayContaining([box.first, ...processesWith(`sleep\0${mark}`)]))
        expect(members).not.toContain(box.pid)
      }
      box.supervisor.kill('SIGTERM')
      expect(await box.ended).toBe(0)
      expect(groups.filter((group) => existsSync(group))).toEqual([])
    } finally {
      for (const group of groups.filter((path) => existsSync(path))) rmdirSync(group)
    }
  })
})

describe('a box that does not stand', () => {
  const errorOf = async (spec: readonly (readonly [string, string | number])[]): Promise<string> => {
    const box = await launchBox({ spec })
    expect(await box.ended).toBe(1)
    expect(existsSync(box.socket)).toBe(false)
    return box.answer
  }

  test('says what failed', async () => {
    expect(await errorOf([['A', '/no/such/program']])).toMatch(/^error 2 running \/no\/such\/program: /)
    expect(await errorOf([['A', '/bin/true']])).toMatch(/^error 71 /)
    expect(await errorOf([['A', 'relative']])).toMatch(/^error 22 /)
    expect(await errorOf([['c', '/no/such/cgroup.procs']])).toMatch(/^error 2 joining the cgroup/)
    expect(await errorOf([['H', 99]])).toMatch(/^error 22 the tag H/)
    expect(await errorOf([['Q', '']])).toMatch(/^error 22 the tag Q/)
    expect(
      await errorOf([
        ['n', ''],
        ['o', 'tree'],
        ['g', '/tmp'],
      ]),
    ).toMatch(/^error 22 an overlay needs/)
  })

  test('complains where it was told to', async () => {
    const box = await launchBox({
      spec: [
        ['A', '/usr/bin/bwrap'],
        ['A', '--no-such-option'],
      ],
    })
    expect(box.answer).toMatch(/^error 71 /)
    expect(box.log()).toContain('--no-such-option')
  })

  test('does not replace one that stands', async () => {
    const box = await launchBox({ spec: [['D', 4]], descriptors: [openFolder()] })
    expect(box.answer).toMatch(/^error 98 /)
  })
})

function openFolder(): number {
  const folder = testFolder()
  writeFileSync(`${folder}/s`, '')
  return openSync(folder, 'r')
}
