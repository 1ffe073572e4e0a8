import { statSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fileSystemOf } from '../../../sys/fs/file-system.ts'
import { collect } from '../../../../test/support/collect.ts'
import { makeLogHome, type LogHome } from '../../../../test/support/log-home.ts'
import { startProgram, type Program } from '../../../../test/support/program.ts'
import { creation, newId, sampleEvent } from '../../../../test/support/sample-events.ts'
import { sqliteEvents } from './sqlite.ts'

let home: LogHome
const running: Program[] = []

beforeEach(() => {
  home = makeLogHome()
})

afterEach(async () => {
  for (const program of running) program.process.kill('SIGKILL')
  await Promise.all(running.splice(0).map((program) => program.ended))
  home.remove()
})

const start = (mode: string, count: number, env: Record<string, string> = {}): Program => {
  const program = startProgram('log-user.ts', [mode, home.folder, String(count)], env)
  running.push(program)
  return program
}

const endedWell = async (programs: readonly Program[]): Promise<void> => {
  const ends = await Promise.all(programs.map((program) => program.ended))
  expect(ends.filter(({ code }) => code !== 0)).toEqual([])
}

const twoMinutes = 120_000

describe('several processes on one log', () => {
  it(
    'gives 20 places to 40 processes that race for them',
    async () => {
      // Nobody has made the home yet: they also race to create it.
      const racers = Array.from({ length: 40 }, () => start('claim', 20))
      await Promise.all(racers.map((racer) => racer.line((line) => line === 'ready')))
      for (const racer of racers) racer.process.stdin.write('go\n')
      await endedWell(racers)
      const answers = racers.map(({ lines }) => lines[1])
      expect(answers.filter((answer) => answer === 'got a place')).toHaveLength(20)
      expect(answers.filter((answer) => answer === 'limit_reached')).toHaveLength(20)
      await using store = await sqliteEvents(home)
      expect(await store.list()).toHaveLength(20)
      expect(await collect(store.read('home'))).toHaveLength(1)
      expect(await store.verify()).toMatchObject({ intact: true })
    },
    twoMinutes,
  )

  it(
    'gives the room for 7 to 20 processes that race for it',
    async () => {
      const racers = Array.from({ length: 20 }, () => start('reserve', 75))
      await Promise.all(racers.map((racer) => racer.line((line) => line === 'ready')))
      for (const racer of racers) racer.process.stdin.write('go\n')
      await endedWell(racers)
      const answers = racers.map(({ lines }) => lines[1])
      expect(answers.filter((answer) => answer === 'got a place')).toHaveLength(7)
      expect(answers.filter((answer) => answer === 'limit_reached')).toHaveLength(13)
    },
    twoMinutes,
  )

  it(
    'shows a follower everything that four writers append, in order',
    async () => {
      const each = 150
      await using store = await sqliteEvents(home)
      const followers = [start('follow', 4 * each), start('follow', 4 * each)]
      await Promise.all(followers.map((follower) => follower.line((line) => line === 'following')))
      const writers = Array.from({ length: 4 }, () => start('write', each))
      await endedWell([...writers, ...followers])
      const log = await collect(store.follow({ types: ['workspace_create_started', 'workspace_labelled'] }))
      const expected = log.map(({ position, stream, version }) => `${position} ${stream} ${version}`)
      expect(expected).toHaveLength(4 * each)
      for (const { lines } of followers) expect(lines.slice(1)).toEqual(expected)
      expect(await store.verify()).toMatchObject({ intact: true })
    },
    twoMinutes,
  )

  it(
    'keeps every acknowledged event of writers that are killed',
    async () => {
      const acknowledged: string[] = []
      for (let round = 0; round < 12; round++) {
        const writers = [start('write', 1_000_000), start('write', 1_000_000)]
        const some = Math.ceil(Math.random() * 40)
        await Promise.all(writers.map((writer) => writer.line(() => writer.lines.length >= some)))
        for (const writer of writers) writer.process.kill('SIGKILL')
        await Promise.all(writers.map((writer) => writer.ended))
        acknowledged.push(...writers.flatMap(({ lines }) => lines))
      }
      // Some of them have made it as long as it will become; where that makes nothing quicker, none has.
      const isLong = statSync(`${home.file}-wal`).size > 4_000_000
      expect(isLong).toBe(['ext4', 'xfs'].includes(fileSystemOf(home.folder)))
      await using store = await sqliteEvents(home)
      const stored = new Set((await collect(store.follow())).map(({ id }) => id as string))
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
      expect(await store.verify()).toMatchObject({ intact: true })
      expect(await store.rebuild()).toMatchObject({ changed: [] })
    },
    twoMinutes,
  )

  it(
    'is whole after a crash at each step, and its anchor too',
    async () => {
      for (let n = 1; ; n++) {
        home.remove()
        home = makeLogHome()
        const program = start('story', 0, { AW_CRASH_AT: String(n) })
        const { signal, stderr } = await program.ended
        expect(stderr).toBe('')
        await using store = await sqliteEvents(home)
        const stored = new Set((await collect(store.follow())).map(({ id }) => id as string))
        const acknowledged = program.lines.filter((line) => line.startsWith('ev_'))
        expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
        expect(await store.verify()).toMatchObject({ intact: true, problems: [] })
        if (signal === null) {
          expect(program.lines).toContain('the end')
          expect(n).toBeGreaterThan(10)
          return
        }
      }
    },
    twoMinutes,
  )

  it('waits for a writer, and not for ever', async () => {
    await using first = await sqliteEvents(home)
    const holder = start('hold', 0)
    await holder.line((line) => line === 'holding')
    await using hasty = await sqliteEvents({ ...home, patienceMs: 30 })
    const event = creation('a').intent
    await expect(hasty.append(newId('ws'), 0, [event])).rejects.toMatchObject({ code: 'log_busy', retryable: true })
    const signal = AbortSignal.timeout(30)
    await expect(first.append(newId('ws'), 0, [event], { signal })).rejects.toMatchObject({ code: 'aborted' })
    const patient = first.append(newId('ws'), 0, [event])
    holder.process.kill('SIGKILL')
    expect((await patient).workspace?.task).toBe('a')
  })

  it('reads while another process writes', async () => {
    await using store = await sqliteEvents(home)
    const id = newId('ws')
    await store.append(id, 0, [creation('a').intent])
    const holder = start('hold', 0)
    await holder.line((line) => line === 'holding')
    expect(await store.get(id)).toMatchObject({ task: 'a' })
    expect(await collect(store.read(id))).toHaveLength(1)
    expect(await collect(store.follow())).toHaveLength(2)
  })

  it('refuses a writer that another process has fenced off', async () => {
    await using one = await sqliteEvents(home)
    await using other = await sqliteEvents(home)
    const id = newId('ws')
    const { intent, outcome, operation } = creation('a')
    await one.append(id, 0, [intent])
    const next = { id: operation.id, epoch: 2 }
    await other.append(id, 1, [sampleEvent('operation_taken', { operation: next, data: { epoch: 2 } })])
    await expect(one.append(id, 2, [outcome])).rejects.toMatchObject({ code: 'workspace_busy' })
  })
})
