/** However a box ends, nothing of it is left. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sandbox } from '../../src/ports/sandbox-driver.ts'
import { processOwner } from '../../src/sys/processes/process.ts'
import { code, ran, startPlanned } from '../contracts/sandbox.ts'
import { openedPlaces } from './fixtures-per-test.ts'
import { levels, type Place } from './fixture.ts'

const opened = openedPlaces()
const program = fileURLToPath(new URL('../support/programs/box-user.ts', import.meta.url))

/** Another process, which starts or finds boxes on the same place. */
function elsewhere({ base, tree }: Place, level: string, what: string, env: Record<string, string> = {}) {
  const { stdout, stderr, signal } = spawnSync(process.execPath, [program, join(base, 'run'), tree, level, what], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return { said: stdout.trim(), stderr, signal }
}

/** Processes that have a word in their command or their environment. */
const running = (word: string): string[] =>
  fs
    .readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => {
      try {
        return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word)
      } catch {
        return false
      }
    })

const groups = (): string[] =>
  ['memory', 'cpu', 'pids'].flatMap((name) => {
    const path = `/sys/fs/cgroup/${name}/aw`
    return fs.existsSync(path) ? fs.readdirSync(path).filter((entry) => entry.startsWith('box_ends')) : []
  })

const mark = `55${process.pid}.25`

/** Ends only when it is killed. */
const stubborn = `trap '' TERM; echo up; while :; do sleep 0.01; done; : ${mark}`

async function busy({ driver, spec }: Place): Promise<Sandbox> {
  const box = await startPlanned(driver, 'box_ends', spec)
  await ran(box, ['sh', '-c', `setsid sh -c 'sleep ${mark} & sleep ${mark}' >/dev/null 2>&1 &`])
  await expect.poll(() => running(mark).length).toBe(3)
  return box
}

describe.each(levels)('a box of level %s', (level) => {
  it('is ended though whoever started it was killed before it noted whom', async () => {
    const at = opened(level)
    await using box = await busy(at)
    fs.truncateSync(join(at.base, 'run', 'box_ends', 'owner.json'))
    await at.driver.remove('box_ends')
    expect(processOwner(box.owner.pid)).toBeUndefined()
    expect(running(mark)).toEqual([])
    expect(await at.driver.list()).toEqual([])
  })

  it('is gone for who asks something of it while it ends, and not before it has', async () => {
    const { driver, spec } = opened(level)
    await using box = await startPlanned(driver, 'box_ends', spec)
    await using found = await driver.find('box_ends')
    const { output } = box.exec({ argv: ['sh', '-c', stubborn], cwd: '.', env: {}, limits: {} })
    await output[Symbol.asyncIterator]().next()
    const stopping = box.stop({ graceMs: 300 })
    await expect(found?.freeze()).rejects.toEqual(code('sandbox_gone'))
    expect(running(mark)).toEqual([])
    await stopping
  })

  it('is found by another process, which can use and end it', async () => {
    const at = opened(level)
    await using box = await busy(at)
    expect(elsewhere(at, level, 'find')).toMatchObject({ said: `found ${box.owner.pid} hello`, stderr: '' })
    expect(elsewhere(at, level, 'stop')).toMatchObject({ said: 'stopped', stderr: '' })
    expect(running(mark)).toEqual([])
    await expect(box.status()).rejects.toEqual(code('sandbox_gone'))
    expect(await at.driver.list()).toEqual([])
    expect(groups()).toEqual([])
  })

  it('outlives the process that started it', async () => {
    const at = opened(level)
    const { said, stderr } = elsewhere(at, level, 'start')
    expect([said.split(' ')[0], stderr]).toEqual(['started', ''])
    await using box = await at.driver.find('box_ends')
    expect(box && (await ran(box, ['echo', 'still here'])).stdout).toBe('still here\n')
    await box?.stop()
    expect(fs.readdirSync(join(at.base, 'run')).filter((name) => !name.startsWith('.'))).toEqual([])
  })

  it('ends with its supervisor, and what is left is removed', async () => {
    const at = opened(level)
    const box = await busy(at)
    const { exit } = box.exec({ argv: ['sleep', mark], cwd: '.', env: {}, limits: {} })
    process.kill(box.owner.pid, 'SIGKILL')
    await expect(exit).rejects.toEqual(code('sandbox_gone'))
    await expect.poll(() => at.driver.list()).toEqual([{ name: 'box_ends', alive: false }])
    expect(await at.driver.find('box_ends')).toBeUndefined()
    await at.driver.remove('box_ends')
    expect(running(mark)).toEqual([])
    expect(groups()).toEqual([])
    expect(await at.driver.list()).toEqual([])
    // And the name is free again.
    await using again = await startPlanned(at.driver, 'box_ends', at.spec)
    expect((await ran(again, ['echo', 'again'])).stdout).toBe('again\n')
  })

  it('is found again and again by who has just used it, and not when it is gone', async () => {
    const at = opened(level)
    await using box = await startPlanned(at.driver, 'box_ends', at.spec)
    for (const word of ['one', 'two', 'three']) {
      await using found = await at.driver.find('box_ends')
      expect(found && (await ran(found, ['echo', word])).stdout).toBe(`${word}\n`)
    }
    const running = await at.driver.find('box_ends')
    const { exit } = running?.exec({ argv: ['sleep', mark], cwd: '.', env: {}, limits: {} }) ?? {}
    await running?.[Symbol.asyncDispose]()
    await expect(exit).rejects.toEqual(code('sandbox_gone'))
    await expect.poll(() => box.status()).toMatchObject({ commands: 0 })
    process.kill(box.owner.pid, 'SIGKILL')
    await expect.poll(() => at.driver.find('box_ends')).toBeUndefined()
    await at.driver.remove('box_ends')
  })

  it('is not mistaken for another process that has its number now', async () => {
    const at = opened(level)
    const box = await startPlanned(at.driver, 'box_ends', at.spec)
    await box.stop()
    const directory = join(at.base, 'run', 'box_ends')
    fs.mkdirSync(directory)
    const owner = { ...box.owner, pid: process.pid }
    fs.writeFileSync(join(directory, 'owner.json'), JSON.stringify({ supervisor: owner, inside: [] }))
    expect(await at.driver.list()).toEqual([{ name: 'box_ends', alive: false }])
    await at.driver.remove('box_ends')
    expect(await at.driver.list()).toEqual([])
  })

  it('is removed whole, wherever whoever started it was killed', async () => {
    const at = opened(level)
    elsewhere(at, level, 'probe')
    // A part of the points, other ones each time.
    const stride = 9
    const first = 1 + Math.floor(Math.random() * stride)
    for (let point = first; ; point += stride) {
      const { signal, said, stderr } = elsewhere(at, level, 'start', { AW_CRASH_AT: String(point) })
      await at.driver.remove('box_ends')
      const left = {
        boxes: await at.driver.list(),
        processes: running('aw-box').filter((pid) => isOf(pid, at.base)),
        groups: groups(),
        tree: fs.readdirSync(at.tree),
      }
      expect({ point, ...left }).toEqual({ point, boxes: [], processes: [], groups: [], tree: [] })
      if (signal === 'SIGKILL') continue
      expect([said.split(' ')[0], stderr]).toEqual(['started', ''])
      expect(point).toBeGreaterThan(stride)
      return
    }
  })
})

it('who is noted to be inside while a box is removed is ended too', async () => {
  const at = opened('namespace')
  const directory = join(at.base, 'run', 'box_ends')
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  const [supervisor, inside] = [0, 1].map(() => spawn('sleep', [mark]))
  onTestFinished(() => void [supervisor, inside].map((child) => child?.kill('SIGKILL')))
  const note = (...within: unknown[]): void =>
    fs.writeFileSync(
      join(directory, 'owner.json'),
      JSON.stringify({ supervisor: processOwner(supervisor?.pid ?? 0), inside: within }),
    )
  note()
  // It is asked to end and says nothing, long enough for another process to write.
  const server = createServer().listen(join(directory, 's'))
  onTestFinished(() => void server.close())
  server.once('connection', () => note(processOwner(inside?.pid ?? 0)))
  await at.driver.remove('box_ends')
  expect(running(mark)).toEqual([])
  expect(await at.driver.list()).toEqual([])
})

/** Whether a process has a file below a directory open. */
function isOf(pid: string, base: string): boolean {
  try {
    return execFileSync('ls', ['-l', `/proc/${pid}/fd`], { encoding: 'utf8' }).includes(base)
  } catch {
    return false
  }
}
