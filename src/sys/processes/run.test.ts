import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from './run.ts'

let folder: string
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'aw-run-'))
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

const options = { cwd: '/', env: { PATH: '/usr/bin:/bin' }, timeoutMs: 60_000 }
const shell = (script: string, more: object = {}): Promise<{ stdout: string }> =>
  run('/bin/sh', ['-c', script], { ...options, ...more })

const isThere = (pid: number): boolean =>
  fs.existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'latin1'))

async function pidIn(file: string): Promise<number> {
  while (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') === '') await sleep(5)
  return Number(fs.readFileSync(file, 'utf8'))
}

test('what is given is read, what is open is there, what is printed comes back', async () => {
  fs.writeFileSync(join(folder, 'file'), 'from a file')
  const fd = fs.openSync(join(folder, 'file'), 'r')
  try {
    expect(await shell('cat; cat <&3', { input: 'from us, ', files: [fd] })).toEqual({ stdout: 'from us, from a file' })
  } finally {
    fs.closeSync(fd)
  }
  expect(await shell('printf 123456', { maxOutput: 3 })).toEqual({ stdout: '123' })
  await expect(shell('yes', { maxOutput: 1000, endsAtMax: true, group: true })).rejects.toMatchObject({
    message: expect.stringContaining('it printed more than 1000 bytes') as string,
  })
  expect(await shell('exit 0', { input: 'x'.repeat(1_000_000) })).toEqual({ stdout: '' })
})

test('what is given may be made while it is read; if that fails, it has failed, and nobody goes on making it', async () => {
  let made = 0
  let left = false
  function* pieces(until: number): Generator<Uint8Array> {
    try {
      for (; made < until; made++) yield Buffer.from(`${made}\n`)
      if (until < 1000) throw new Error('no more of it')
    } finally {
      left = true
    }
  }
  expect(await shell('tail -n 1', { input: pieces(1000) })).toEqual({ stdout: '999\n' })
  made = 0
  await expect(shell('cat; sleep 60', { input: pieces(5) })).rejects.toMatchObject({ message: 'no more of it' })
  ;[made, left] = [0, false]
  expect(await shell('head -n 1', { input: pieces(Infinity) })).toEqual({ stdout: '0\n' })
  expect(left).toBe(true)
  expect(await shell(String.raw`printf '\377'`, { encoding: 'latin1' })).toEqual({ stdout: '\xff' })
})

test('of stderr the end is kept, and all of it is told', async () => {
  let told = 0
  const failed = shell('yes x | head -c 200000 >&2; echo the end >&2; exit 3', {
    onStderr: (text: string) => (told += text.length),
  })
  await expect(failed).rejects.toMatchObject({
    code: 'aw_command_failed',
    data: { exit_code: 3, message: expect.stringMatching(/the end$/) as string },
  })
  expect(told).toBe(200_008)
})

test('a group ends as a whole', async () => {
  const stop = new AbortController()
  const file = join(folder, 'pid')
  const stopped = shell(`sleep 1000 & echo $! > '${file}'; wait`, { group: true, signal: stop.signal })
  const pid = await pidIn(file)
  expect(isThere(pid)).toBe(true)
  stop.abort()
  await expect(stopped).rejects.toMatchObject({ code: 'aborted' })
  await expect.poll(() => isThere(pid)).toBe(false)
})

test('who stops before it begins starts nothing', async () => {
  await expect(shell(`touch '${join(folder, 'made')}'`, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'aborted',
  })
  expect(fs.readdirSync(folder)).toEqual([])
})

test('who says nothing for too long is ended, who goes on is not', async () => {
  await expect(shell('sleep 1000', { group: true, silentMs: 100 })).rejects.toMatchObject({ code: 'timeout' })
  const lively = 'for n in 1 2 3 4 5 6; do sleep 0.5; echo $n >&2; done; echo done'
  expect(await shell(lively, { group: true, silentMs: 2_500 })).toEqual({ stdout: 'done\n' })
})

test('what is left running with the output open is not waited for', async () => {
  const file = join(folder, 'pid')
  expect(await shell(`sleep 1000 & echo $! > '${file}'; echo over`)).toEqual({ stdout: 'over\n' })
  process.kill(await pidIn(file), 'SIGKILL')
})

test.each(['onStdout', 'onStderr'])(
  'who cannot take what it writes (%s) has failed, and it is ended',
  async (taker) => {
    const file = join(folder, 'pid')
    let taken = 0
    const take = (): never => {
      taken += 1
      throw new Error('not like this')
    }
    const script = `sleep 1000 & echo $! > '${file}'; yes & yes >&2`
    await expect(shell(script, { group: true, [taker]: take })).rejects.toMatchObject({ message: 'not like this' })
    expect(taken).toBe(1)
    const pid = await pidIn(file)
    await expect.poll(() => isThere(pid)).toBe(false)
  },
)

/** Nothing else happens in this process until then. */
function standStill(isOver: () => boolean): void {
  while (!isOver()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
}

test('all that it has written is read, however late', async () => {
  const [file, goOn] = [join(folder, 'pid'), join(folder, 'go on')]
  const isWritten = (): boolean => fs.existsSync(file) && fs.statSync(file).size > 0
  let taken = ''
  const onStdout = (bytes: Buffer): void => {
    taken += bytes.toString()
    if (taken !== 'first ') return
    // We learn of its end together with that of the other, and before the rest is read.
    fs.writeFileSync(goOn, '')
    const pid = Number(fs.readFileSync(file, 'utf8'))
    standStill(() => !isThere(pid))
    setImmediate(() => {
      const late = performance.now() + 2_200
      standStill(() => performance.now() > late)
    })
  }
  const done = shell(
    `printf 'first '; echo $$ > '${file}'; while ! test -e '${goOn}'; do sleep 0.01; done; printf rest`,
    { onStdout },
  )
  const other = spawn('/bin/true').pid ?? 0
  standStill(() => isWritten() && !isThere(other))
  await done
  expect(taken).toBe('first rest')
})

test('a program that is through in time was in time, whenever that is noticed', async () => {
  const file = join(folder, 'pid')
  const running = shell(`echo said; echo $$ > ${file}`, { timeoutMs: 1 })
  // Nothing is noticed here until it has ended and its time is over, too.
  while (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') === '') pause()
  while (isThere(Number(fs.readFileSync(file, 'utf8')))) pause()
  expect(await running).toEqual({ stdout: 'said\n' })
})

const pause = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
