import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Inputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { LimitName } from '../domain/sandbox/spec.ts'
import type { CallContext } from '../ports/manager.ts'
import type { CommandExit, ExecOptions, Execution, OutputChunk } from './execution.ts'
import { echo, given, item, scripted } from '../../test/support/client.ts'

const ended = { code: 0, signal: null, command: 'cmd_1', duration_ms: 5, snapshot: null }
const code = (expected: string): unknown => expect.objectContaining({ code: expected })

async function running(answer: (input: never, context: CallContext) => unknown, ...rest: [object?, object?]) {
  const { aw, asked } = scripted({ exec: answer })
  const workspace = await aw.get('x')
  const run: Execution = workspace.exec(['cmd'], ...rest)
  return { run, asked, workspace }
}

const saying = (...texts: readonly string[]) =>
  async function* answer(): AsyncGenerator<object> {
    yield item.started()
    for (const text of texts) yield item.out(text)
    yield item.err('!')
    yield item.exit()
  }

async function all(output: AsyncIterable<OutputChunk>): Promise<string> {
  let seen = ''
  for await (const { stream, data } of output) seen += `${stream}:${Buffer.from(data).toString()} `
  return seen
}

describe('exec', () => {
  it('asks for what the options say, by the names of the table', async () => {
    const options = {
      cwd: 'src',
      env: { A: 'b' },
      timeoutMs: 500,
      limits: { memory_mb: 100, output_mb: 1 },
      isolation: 'namespace',
      allow: ['npm'],
      mcp: true,
      snapshot: 'each-exec',
    } satisfies ExecOptions
    const { run, asked } = await running(saying(), options, { actor: 'me' })
    await run.exit
    const { timeoutMs, limits, ...same } = options
    expect(asked.at(-1)?.input).toEqual({ id: 'ws_1', argv: ['cmd'], ...same, timeout_ms: timeoutMs, ...limits })
    expect(asked.at(-1)?.context).toMatchObject({ actor: 'me' })
  })

  it('has an option for every field of the table', () => {
    type Renamed = 'id' | 'all' | 'argv' | 'columns' | 'rows' | 'timeout_ms' | Exclude<LimitName, 'wall_ms'>
    expectTypeOf<Exclude<keyof Inputs['exec'], keyof ExecOptions | Renamed>>().toEqualTypeOf<never>()
  })

  it('gives output in pieces, and the end', async () => {
    const { run } = await running(saying('a', 'b'))
    expect(await all(run.output)).toBe('stdout:a stdout:b stderr:! ')
    expect(await run.exit).toEqual({
      ...ended,
      peak_memory_bytes: 1024,
      cpu_ms: 2,
      timed_out: false,
      output_cut: false,
    })
    expectTypeOf(run.exit).toEqualTypeOf<Promise<CommandExit>>()
  })

  it('or both as text', async () => {
    const { run } = await running(saying('ü', 'b'))
    expect(await run.text()).toMatchObject({ stdout: 'üb', stderr: '!', exit: ended })
  })

  it('its end comes without anybody reading', async () => {
    const { run } = await running(saying(...Array.from({ length: 1000 }, () => 'x'.repeat(1000))))
    expect(await run.exit).toMatchObject(ended)
    expect(() => run.output[Symbol.asyncIterator]()).toThrow(/thrown away/)
  })

  it('what is read late is there, as long as nobody waited for the end instead', async () => {
    const { run } = await running(saying('a', 'b'))
    const { output, exit } = run
    await new Promise((resolve) => setTimeout(resolve, 20))
    const [seen, end] = await Promise.all([exit, all(output)].toReversed())
    expect([seen, end]).toEqual(['stdout:a stdout:b stderr:! ', expect.objectContaining(ended)])
  })

  it('whoever waits for the end first and reads in the same breath loses nothing', async () => {
    const { run } = await running(saying('a', 'b'))
    const [end, seen] = await Promise.all([run.exit, all(run.output)])
    expect([end.code, seen]).toEqual([0, 'stdout:a stdout:b stderr:! '])
  })

  it('leaving the loop does not end the command', async () => {
    const { run } = await running(saying('a', 'b', 'c'))
    for await (const _ of run.output) break
    expect(await run.exit).toMatchObject(ended)
  })

  it('nothing is read ahead of a reader', async () => {
    let asked = 0
    async function* flood(): AsyncGenerator<object> {
      yield item.started()
      for (; asked < 100; asked++) yield item.out('x')
      yield item.exit()
    }
    const { run } = await running(flood)
    let seen = 0
    for await (const _ of run.output) {
      await new Promise((resolve) => setImmediate(resolve))
      expect(asked - seen).toBeLessThanOrEqual(1)
      seen++
    }
    expect(seen).toBe(100)
  })

  it('a failure is heard wherever one listens, and nowhere else', async () => {
    // oxlint-disable-next-line require-yield
    async function* refused(): AsyncGenerator<object> {
      throw new AwError('sandbox_unenforceable', 'No')
    }
    const { run } = await running(refused)
    await expect(all(run.output)).rejects.toEqual(code('sandbox_unenforceable'))
    await expect(run.exit).rejects.toEqual(code('sandbox_unenforceable'))
    const { run: unread } = await running(refused)
    await expect(unread.exit.finally(() => undefined)).rejects.toEqual(code('sandbox_unenforceable'))
    await running(refused)
  })

  it('wrong options are refused where one waits', async () => {
    const { run, asked } = await running(saying(), { isolation: 'strong' })
    await expect(run.exit).rejects.toEqual(code('invalid_input'))
    expect(asked.map(({ name }) => name)).toEqual(['show'])
  })
})

describe('what a command reads', () => {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a')
    yield Buffer.from('b')
  }
  const never = new ReadableStream<Uint8Array>()

  it.each([
    ['nothing', undefined, ''],
    ['text', 'ab', 'ab'],
    ['bytes', Buffer.from('ab'), 'ab'],
    ['pieces', pieces(), 'ab'],
    ['a stream', ReadableStream.from([Buffer.from('a'), Buffer.from('b')]), 'ab'],
  ])('%s', async (_, stdin, expected) => {
    const { run } = await running(echo(), { stdin })
    expect(await run.text()).toMatchObject({ stdout: expected, exit: { code: 0 } })
  })

  it('much of it comes in pieces', async () => {
    let largest = 0
    async function* measure(_: never, context: CallContext): AsyncGenerator<object> {
      for await (const piece of given(context)) {
        if (piece.kind === 'end') break
        if (piece.kind === 'data') largest = Math.max(largest, piece.data.length)
      }
      yield item.exit()
    }
    const { run } = await running(measure, { stdin: new Uint8Array(1_000_000) })
    await run.exit
    expect(largest).toBe(65_536)
  })

  it('a signal comes through while it waits for more', async () => {
    const { run } = await running(echo(), { stdin: never })
    run.signal('SIGINT')
    expect(await run.exit).toMatchObject({ code: null, signal: 'SIGINT' })
    run.signal('SIGINT')
  })

  it('input that fails ends the command, and is what one hears of', async () => {
    const stdin = new ReadableStream({ start: (controller) => controller.error(new Error('the source broke')) })
    const { run } = await running(echo(), { stdin })
    await expect(run.exit).rejects.toThrow('the source broke')
  })

  it('the signal of the options ends it', async () => {
    const { run } = await running(echo(), { stdin: never, signal: AbortSignal.timeout(20) })
    await expect(run.exit).rejects.toEqual(code('aborted'))
  })
})

describe('a terminal', () => {
  it('takes keys, sizes and signals', async () => {
    const { aw, asked } = scripted({ exec: echo() })
    const terminal = (await aw.get('x')).terminal({ columns: 100, rows: 40 })
    const seen: string[] = []
    const reading = (async () => {
      for await (const data of terminal.output) seen.push(Buffer.from(data).toString())
    })()
    await terminal.write('ls\r')
    terminal.resize(80, 25)
    terminal.signal('SIGINT')
    expect(await terminal.exit).toMatchObject({ signal: 'SIGINT' })
    await reading
    expect(seen).toEqual([
      'ls\r',
      '{"kind":"resize","columns":80,"rows":25}\n',
      '{"kind":"signal","signal":"SIGINT"}\n',
    ])
    expect(asked.at(-1)?.input).toMatchObject({ columns: 100, rows: 40, env: { TERM: 'xterm-256color' } })
    await expect(terminal.write('x')).rejects.toEqual(code('invalid_state'))
  })

  it('ends with the block it was opened in', async () => {
    const { aw } = scripted({ exec: echo() })
    const workspace = await aw.get('x')
    let left: Promise<CommandExit>
    {
      await using terminal = workspace.terminal({ argv: ['vi'] })
      left = terminal.exit
    }
    await expect(left).rejects.toEqual(code('aborted'))
  })
})

it('execAll tells what each wrote and how it ended', async () => {
  const error = { code: 'sandbox_gone', message: 'It has ended', hint: null }
  async function* answer(): AsyncGenerator<object> {
    yield item.started('t/a')
    yield item.out('hi', 't/a')
    yield { type: 'failed', workspace: 't/b', error }
    yield item.exit({ workspace: 't/a', code: 3 })
  }
  const { aw, asked } = scripted({ exec: answer })
  const { output, exits } = aw.execAll('t', ['git', 'status'], { timeoutMs: 9 })
  const seen = []
  for await (const { workspace, data } of output) seen.push([workspace, Buffer.from(data).toString()])
  expect(seen).toEqual([['t/a', 'hi']])
  expect(await exits).toMatchObject([
    { id: 't/b', ok: false, error: { code: 'sandbox_gone', message: 'It has ended' } },
    { id: 't/a', ok: true, result: { code: 3 } },
  ])
  expect(asked.at(-1)?.input).toEqual({ all: 't', argv: ['git', 'status'], timeout_ms: 9 })
  expect(await aw.execAll('t', ['x']).exits).toHaveLength(2)
})

it('start, stop, env and history are those of the workspace', async () => {
  const view = () => ({ id: 'ws_1', workspace_id: 'x/main', sandbox: { id: 'box_1' } })
  const { aw, asked } = scripted({ start: view, stop: view, 'env set': () => [], history: () => [] })
  const workspace = await aw.get('x')
  expect((await workspace.start({ memory_mb: 100 })).sandbox).toMatchObject({ id: 'box_1' })
  expect((await aw.stop('x', { grace_ms: 1 })).name).toBe('x/main')
  await workspace.env.set({ A: 'b' })
  await workspace.env.setSecret('KEY', 'value')
  await workspace.env.unset(['A'])
  await workspace.env.list()
  expect(await workspace.history({ limit: 3 })).toEqual([])
  await workspace.requests({ refused: true })
  expect(asked.slice(1).map(({ name, input }) => [name, input])).toEqual([
    ['start', { id: 'ws_1', memory_mb: 100 }],
    ['stop', { id: 'x', grace_ms: 1 }],
    ['env set', { id: 'ws_1', env: { A: 'b' } }],
    ['env set', { id: 'ws_1', secret: 'KEY', value: 'value' }],
    ['env unset', { id: 'ws_1', names: ['A'] }],
    ['env list', { id: 'ws_1' }],
    ['history', { id: 'ws_1', limit: 3 }],
    ['requests', { id: 'ws_1', refused: true }],
  ])
})
