/** What commands of a real box do: at once, at a terminal, with readers that do not read. */
import * as fs from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { CommandInput, OutputChunk, Sandbox } from '../../src/ports/sandbox-driver.ts'
import { code, ran, startPlanned } from '../contracts/sandbox.ts'
import { openedPlaces, sh } from './fixtures-per-test.ts'
import { levels } from './fixture.ts'

const opened = openedPlaces()
const command = { cwd: '.', env: {}, limits: {} }

async function started(level: (typeof levels)[number] = 'namespace'): Promise<Sandbox> {
  const { driver, spec } = opened(level)
  return startPlanned(driver, 'box_1', spec)
}

const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024

describe('many at once', () => {
  it('run together, not one after another', async () => {
    await using box = await started()
    // None ends before all have begun.
    const script = 'mkdir -p here; : > here/$1; until [ "$(ls here | wc -l)" = 20 ]; do sleep 0.1; done'
    const all = await Promise.all(Array.from({ length: 20 }, (_, at) => ran(box, ['sh', '-c', script, 'sh', `${at}`])))
    expect(all.map(({ exit }) => exit.code)).toEqual(all.map(() => 0))
  })

  it('keep the supervisor small though 100 MB wait for a slow reader', async () => {
    await using box = await started()
    const bytes = 100 * 1024 * 1024
    const { output, exit } = box.exec({ ...command, argv: ['head', '-c', String(bytes), '/dev/zero'] })
    let [read, largest, chunks] = [0, 0, 0]
    for await (const { data } of output) {
      read += data.length
      if (++chunks % 50 !== 0) continue
      largest = Math.max(largest, memoryOf(box.owner.pid))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect(read).toBe(bytes)
    expect(await exit).toMatchObject({ code: 0 })
    expect(largest).toBeGreaterThan(0)
    expect(largest).toBeLessThan(16 * 1024 * 1024)
  })
})

describe.each(levels)('a command at level %s', (level) => {
  it('has a terminal of the size it is told, which can change, and is interrupted from there', async () => {
    await using box = await started(level)
    const turns: ((item: CommandInput) => void)[] = []
    const items: CommandInput[] = []
    const say = (item: CommandInput): void => {
      items.push(item)
      turns.shift()?.(item)
    }
    async function* input(): AsyncGenerator<CommandInput> {
      for (;;) {
        const next = items.shift()
        if (next !== undefined) yield next
        else await new Promise<CommandInput>((resolve) => turns.push(resolve))
      }
    }
    const script = `trap 'stty size' WINCH; trap 'echo stopped; exit 5' INT
test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; read line; echo "read $line"; while :; do sleep 0.05; done`
    const { output, exit } = box.exec({
      ...command,
      argv: ['sh', '-c', script],
      terminal: { columns: 100, rows: 30 },
      input: input(),
    })
    let text = ''
    const seen = async (part: string): Promise<void> => {
      await expect.poll(() => text).toContain(part)
    }
    const reading = (async () => {
      for await (const { stream, data } of output) {
        expect(stream).toBe('stdout')
        text += Buffer.from(data).toString()
      }
    })()
    await seen('terminal\r\n30 100\r\n')
    say({ kind: 'data', data: Buffer.from('hello\n') })
    await seen('read hello')
    say({ kind: 'resize', columns: 80, rows: 24 })
    await seen('24 80')
    say({ kind: 'data', data: Buffer.from('\u0003') })
    expect(await exit).toMatchObject({ code: 5, signal: null })
    await reading
    expect(text).toContain('stopped')
  })

  it('gets the signals that it is sent', async () => {
    await using box = await started(level)
    const { promise: ready, resolve } = Promise.withResolvers<void>()
    async function* input(): AsyncGenerator<CommandInput> {
      await ready
      yield { kind: 'signal', signal: 'SIGUSR1' }
      await new Promise(() => undefined)
    }
    const script = `trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.05; done`
    const { output, exit } = box.exec({ ...command, argv: ['sh', '-c', script], input: input() })
    let text = ''
    for await (const { stream, data } of output) {
      // The shell also says on stderr that its own sleep got the signal.
      if (stream === 'stdout') text += Buffer.from(data).toString()
      if (text.includes('ready')) resolve()
    }
    expect(text).toBe('ready\ncaught\n')
    expect(await exit).toMatchObject({ code: 9 })
  })

  it('is told with the memory that its largest process had', async () => {
    await using box = await started(level)
    const { exit } = await ran(box, ['python3', '-c', 'x = bytearray(80_000_000)'])
    expect(exit.peak_memory_bytes).toBeGreaterThan(80_000_000)
    expect(exit.peak_memory_bytes).toBeLessThan(400_000_000)
  })

  it('leaves what it started in the background running, and that ends with the box', async () => {
    await using box = await started(level)
    const mark = `33${process.pid}.5`
    const { exit } = await ran(box, [
      'sh',
      '-c',
      `setsid sh -c 'sleep ${mark} & sleep ${mark}' >/dev/null 2>&1 & exit 4`,
    ])
    expect(exit.code).toBe(4)
    await expect.poll(() => running(mark)).toBe(3)
    expect((await box.status()).processes).toBe(3)
    await box.stop({ graceMs: 0 })
    expect(running(mark)).toBe(0)
  })

  it('with all of its session is ended by its signal', async () => {
    await using box = await started(level)
    const mark = `34${process.pid}.5`
    const controller = new AbortController()
    const argv = ['sh', '-c', `sleep ${mark} & (sleep ${mark}; true) & sleep ${mark}`]
    const { exit } = box.exec({ ...command, argv, signal: controller.signal })
    await expect.poll(() => running(mark)).toBeGreaterThan(3)
    controller.abort()
    expect(await exit).toMatchObject({ signal: 'SIGKILL' })
    await expect.poll(() => running(mark)).toBe(0)
  })

  it('is refused if it is none', async () => {
    await using box = await started(level)
    const bad = [[], [''], ['a\0b'], ['echo', 'a\ud800'], 'text', [7]] as unknown as string[][]
    for (const argv of bad) await expect(ran(box, argv)).rejects.toEqual(code('invalid_input'))
    for (const env of [{ '': 'a' }, { 'A=B': 'c' }, { A: 'b\0c' }, { A: '\udc00' }, { '\ud800': 'a' }]) {
      await expect(ran(box, ['true'], { env })).rejects.toEqual(code('invalid_input'))
    }
    const error: unknown = await ran(box, ['/etc/hostname']).catch((failure: unknown) => failure)
    expect(['permission_denied', 'file_not_found']).toContain((error as { code: string }).code)
  })
})

describe('ports of a box', () => {
  const server = `import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 8000)); s.listen(); print("listening", flush=True)
while True:
    c, _ = s.accept()
    data = b""
    while True:
        part = c.recv(65536)
        if not part: break
        data += part
    c.sendall(data.upper()); c.close()`

  it('are reached from outside, with much or little to say', async () => {
    await using box = await started()
    const { output } = box.exec({ ...command, argv: ['python3', '-c', server] })
    const { value } = (await output[Symbol.asyncIterator]().next()) as { value: OutputChunk }
    expect(Buffer.from(value.data).toString()).toBe('listening\n')
    for (const text of ['hello', 'x'.repeat(1_000_000)]) {
      await using connection = await box.connect(8000)
      await connection.send(Buffer.from(text))
      await connection.end()
      let answer = ''
      for await (const data of connection.received) answer += Buffer.from(data).toString()
      expect(answer === text.toUpperCase()).toBe(true)
    }
    const left = await box.connect(8000)
    await left[Symbol.asyncDispose]()
    expect((await box.status()).commands).toBe(1)
  })

  it('where nobody listens are an error', async () => {
    await using box = await started()
    await expect(box.connect(8001)).rejects.toEqual(code('file_not_found'))
    await expect(box.connect(0)).rejects.toEqual(code('invalid_input'))
    await expect(box.connect(8001, { signal: AbortSignal.abort() })).rejects.toEqual(code('aborted'))
  })

  it('are the host’s own where the network is', async () => {
    const { driver, spec } = opened('namespace')
    await using box = await startPlanned(driver, 'box_1', { ...spec, network: { mode: 'host' } })
    expect(await sh(box, "sed -n '3,$s/:.*//p' /proc/net/dev | wc -l")).toBe(
      `${fs.readFileSync('/proc/net/dev', 'latin1').trim().split('\n').length - 2}\n`,
    )
    await expect(box.connect(8000)).rejects.toEqual(code('unsupported'))
  })
})

/** How many processes of the machine have a word in their command. */
const running = (word: string): number =>
  fs
    .readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word)
      } catch {
        return false
      }
    }).length
