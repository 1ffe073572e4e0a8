/** By our own calls, and by Node where they are not at hand. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { native } from '../syscalls/native.ts'
import { statOf } from './process.ts'
import { startProgram, type GivenDescriptors, type Started } from './start-program.ts'

let folder: string
let input: number
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'aw-start-'))
  input = fs.openSync('/dev/null', 'r')
})
afterEach(() => {
  fs.closeSync(input)
  fs.rmSync(folder, { recursive: true })
})

async function textOf({ output }: Started): Promise<string> {
  let text = ''
  for await (const chunk of output.setEncoding('utf8')) text += String(chunk)
  return text
}

const shell = (script: string): string[] => ['/bin/sh', '-c', script]
const openHere = (): number => fs.readdirSync('/proc/self/fd').length

async function outputOf(words: readonly string[], ...more: number[]): Promise<string> {
  const child = startProgram(words, [input, 'pipe', 'ignore', ...more])
  const text = await textOf(child)
  await child.ended()
  return text
}

test('by our own calls here', () => {
  expect(native()).toBeDefined()
})

describe('what it is given', () => {
  test('the words, with all that is in them', async () => {
    const words = ['/usr/bin/printf', '[%s]', '', ' a b', 'grüße\n', '$(x)', '']
    expect(await outputOf(words)).toBe('[][ a b][grüße\n][$(x)][]')
  })

  test('nothing of the environment, the root directory, a session of its own', async () => {
    expect(await outputOf(['/usr/bin/env'])).toBe('')
    expect(await outputOf(['/bin/pwd'])).toBe('/\n')
    const [pid, , , , , session] = (await outputOf(['/bin/cat', '/proc/self/stat'])).split(' ')
    expect(session).toBe(pid)
  })

  test('no signal is blocked or ignored', async () => {
    const status = await outputOf(['/bin/cat', '/proc/self/status'])
    expect(status).toMatch(/^SigBlk:\t0{16}$/m)
    expect(status).toMatch(/^SigIgn:\t0{16}$/m)
  })

  test('the descriptors, each by its number, whatever numbers they had; no others', async () => {
    const files = Array.from({ length: 40 }, (_, place) => {
      const fd = fs.openSync(join(folder, String(place)), 'w+')
      fs.writeSync(fd, `${place};`, 0)
      return fd
    })
    // Some have a number that another one gets.
    expect(Math.min(...files)).toBeLessThan(files.length)
    files.reverse()
    const numbers = files.map((_, place) => place + 3)
    const script = `for fd in ${numbers.join(' ')}; do read -r line </proc/self/fd/$fd; printf %s "$line"; done; echo; cd /proc/self/fd; echo *`
    const [read, list] = (await outputOf(shell(script), ...files)).split('\n')
    for (const fd of files) fs.closeSync(fd)
    expect(read).toBe(files.map((_, place) => `${39 - place};`).join(''))
    expect(
      list
        ?.split(' ')
        .map(Number)
        .toSorted((a, b) => a - b),
      // The last is the directory that is read.
    ).toEqual([0, 1, 2, ...numbers, files.length + 3])
  })

  test('an input that ends when we say so, or we do', async () => {
    const child = startProgram(['/bin/cat'], ['pipe', 'pipe', 'ignore'])
    await sleep(20)
    expect(child.hasEnded()).toBe(false)
    child.endInput()
    child.endInput()
    expect(await textOf(child)).toBe('')
    await child.ended()
  })

  test('a place for complaints', async () => {
    const file = join(folder, 'log')
    const log = fs.openSync(file, 'w')
    const child = startProgram(shell('echo no >&2'), [input, 'pipe', log])
    fs.closeSync(log)
    await textOf(child)
    await child.ended()
    expect(fs.readFileSync(file, 'utf8')).toBe('no\n')
  })
})

describe('how it ends', () => {
  test('it is known and forgotten, also when nobody asks', async () => {
    const children = Array.from({ length: 20 }, () => startProgram(['/bin/true'], [input, 'pipe', 'ignore']))
    await Promise.all(children.map(textOf))
    await expect.poll(() => children.every(({ pid }) => statOf(pid).state === undefined)).toBe(true)
    expect(children.every((child) => child.hasEnded())).toBe(true)
    await Promise.all(children.map((child) => child.ended()))
    expect(process.listeners('SIGCHLD').filter(({ name }) => name === 'lookAtAll')).toEqual([])
  })

  test('also if it has ended before we begin to listen', async () => {
    for (let i = 0; i < 100; i++) {
      const child = startProgram(['/bin/true'], [input, 'pipe', 'ignore'])
      child.output.destroy()
      if (i % 2 === 0) await sleep(1)
      await expect.poll(() => statOf(child.pid).state, { interval: 1 }).toBe(undefined)
    }
  })

  test('by a signal; a second one finds nobody', async () => {
    const child = startProgram(['/bin/sleep', '60'], [input, 'pipe', 'ignore'])
    child.signal('SIGTERM')
    await child.ended()
    expect(child.hasEnded()).toBe(true)
    child.signal('SIGKILL')
    child.output.destroy()
  })

  test('one that cannot be started is an error, and leaves nothing', async () => {
    const given: GivenDescriptors = ['pipe', 'pipe', 'ignore']
    fs.writeFileSync(join(folder, 'text'), '')
    await sleep(20)
    const before = openHere()
    expect(() => startProgram([join(folder, 'none')], given)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
    expect(() => startProgram([join(folder, 'text')], given)).toThrow(expect.objectContaining({ code: 'EACCES' }))
    expect(() => startProgram(['/bin/true'], [-1, 'pipe', 'ignore'])).toThrow(
      expect.objectContaining({ code: 'EBADF' }),
    )
    expect(openHere()).toBe(before)
    const { stdout } = spawnSync('ps', ['--ppid', String(process.pid), '-o', 'stat='], { encoding: 'utf8' })
    expect(stdout).not.toContain('Z')
  })

  test('signals still reach this process as before', async () => {
    const heard = new Promise((resolve) => process.once('SIGUSR2', resolve))
    await outputOf(['/bin/true'])
    process.kill(process.pid, 'SIGUSR2')
    expect(await heard).toBe('SIGUSR2')
  })
})

describe.each(['addon', 'none'])('in a process of its own, with %s', (way) => {
  const script = (body: string): string => `
    import { openSync } from 'node:fs'
    import { startProgram } from ${JSON.stringify(join(import.meta.dirname, 'start-program.ts'))}
    const input = openSync('/dev/null', 'r')
    ${body}`
  const run = (body: string): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, ['--input-type=module', '-e', script(body)], {
      encoding: 'utf8',
      env: { ...process.env, AW_NATIVE: way },
      timeout: 20_000,
    })

  test('it does not keep the process alive', () => {
    const { status, stdout, stderr } = run(`
      const child = startProgram(['/bin/sleep', '61'], [input, 'pipe', 'ignore'])
      child.output.destroy()
      console.log(child.pid)`)
    process.kill(Number(stdout))
    expect([status, stderr]).toEqual([0, ''])
  })

  test('starts, hears, ends', () => {
    const { stdout, stderr } = run(`
      const child = startProgram(['/bin/cat'], ['pipe', 'pipe', 'ignore'])
      child.endInput()
      for await (const chunk of child.output) console.log(chunk)
      await child.ended()
      const other = startProgram(['/bin/sleep', '61'], [input, 'pipe', 'ignore'])
      console.log(other.hasEnded())
      other.signal('SIGKILL')
      await other.ended()
      console.log(child.hasEnded(), other.hasEnded())
      other.output.destroy()
      let refused = 0
      try { startProgram(['/none'], [input, 'pipe', 'ignore']) } catch { refused++ }
      console.log(refused)`)
    expect([stdout, stderr]).toEqual(['false\ntrue true\n1\n', ''])
  })

  test('in another thread', () => {
    const { stdout, stderr } = run(`
      const { Worker } = await import('node:worker_threads')
      const body = ${JSON.stringify(
        script(`for (let i = 0; i < 5; i++) {
        const child = startProgram(['/bin/true'], [input, 'pipe', 'ignore'])
        child.output.resume()
        await new Promise((resolve) => child.output.once('close', resolve))
        await child.ended()
        console.log(child.hasEnded())
      }`),
      )}
      new Worker(new URL('data:text/javascript,' + encodeURIComponent(body.replaceAll("from \\"/", "from \\"file:///"))), { trackUnmanagedFds: false })`)
    expect([stdout, stderr]).toEqual(['true\n'.repeat(5), ''])
  })
})
