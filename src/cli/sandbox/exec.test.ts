import { describe, expect, test } from 'vitest'
import { item } from '../../../test/support/client.ts'
import { AwError } from '../../domain/errors.ts'
import { ClosedOutput } from '../io.ts'
import { runCli, type Result, type Scene } from '../../../test/support/cli.ts'

const begun = item.started()
const ended = item.exit
/** Answers with these items. */
const items = (...all: readonly object[]) =>
  async function* answer(): AsyncGenerator<object> {
    yield* all
  }
const { out, err } = item

const exec = (args: readonly string[], scene: Scene | (() => AsyncGenerator<object>)): Promise<Result> =>
  runCli(['exec', ...args], typeof scene === 'function' ? { answers: { exec: scene } } : scene)
const inputOf = async (...args: string[]): Promise<unknown> => (await exec(args, items(begun, ended()))).calls[0]?.input

describe('which words are whose', () => {
  test.each<[string[], object]>([
    [['x', '--', 'npm', 'test'], { id: 'x', argv: ['npm', 'test'] }],
    [['x', 'npm', 'test'], { id: 'x', argv: ['npm', 'test'] }],
    [['x', 'ls', '-l', '--json', '--help', '--', 'y'], { id: 'x', argv: ['ls', '-l', '--json', '--help', '--', 'y'] }],
    [['x', '--cwd', 'src', 'ls', '--cwd'], { id: 'x', cwd: 'src', argv: ['ls', '--cwd'] }],
    [['--cwd=src', 'x', '--', '--odd'], { id: 'x', cwd: 'src', argv: ['--odd'] }],
    [['--id', 'x', 'npm', 'test'], { id: 'x', argv: ['npm', 'test'] }],
    [['x', '-e', 'A=b', '--env', 'C=d', 'env'], { id: 'x', env: { A: 'b', C: 'd' }, argv: ['env'] }],
    [['x', '--allow', 'npm', '--allow', 'a.b', '--', 'w'], { id: 'x', allow: ['npm', 'a.b'], argv: ['w'] }],
    [['x', '--', ''], { id: 'x', argv: [''] }],
    [['-q', 'x', '--timeout-ms', '5', 'a', '-q'], { id: 'x', timeout_ms: 5, argv: ['a', '-q'] }],
    [['x', '--timeout', '5m', 'a'], { id: 'x', timeout_ms: 300_000, argv: ['a'] }],
    [['x', '-', 'y'], { id: 'x', argv: ['-', 'y'] }],
  ])('%j', async (args, expected) => {
    expect(await inputOf(...args)).toEqual(expected)
  })

  test('with --all there is no workspace before the command', async () => {
    expect(await inputOf('--all', 't', '--', 'git', 'status')).toEqual({ all: 't', argv: ['git', 'status'] })
    expect(await inputOf('--all', 't', 'git', '--all')).toEqual({ all: 't', argv: ['git', '--all'] })
  })

  test('what is ours is refused with 125, and nothing is opened', async () => {
    const unknown = await exec(['x', '--nope', '--', 'ls'], {})
    expect(unknown).toMatchObject({ exit: 125, connections: [] })
    expect(unknown.stderr).toContain('There is no flag --nope')
    const nothing = await exec(['x'], {})
    expect(nothing).toMatchObject({ exit: 125, connections: [] })
    expect(nothing.stderr).toContain('exec needs COMMAND')
    expect(nothing.stderr).toContain('aw exec [ID] [flags] -- COMMAND...')
  })

  test('an error has the form that aw was asked for, not the command', async () => {
    const fail = (): never => {
      throw new AwError('workspace_not_found', 'There is no workspace x')
    }
    const plain = await exec(['x', 'cmd', '--json'], { answers: { exec: fail } })
    expect(plain).toMatchObject({ exit: 125, stderr: 'aw: There is no workspace x\n' })
    const json = await exec(['x', '--json', 'cmd'], { answers: { exec: fail } })
    expect(JSON.parse(json.stderr)).toMatchObject({ code: 'workspace_not_found' })
  })
})

describe('output and end', () => {
  test('bytes go through as they are, each to its side', async () => {
    const odd = Uint8Array.of(0, 255, 10, 27)
    const written: Uint8Array[] = []
    const stdout = {
      isTerminal: false,
      columns: 80,
      write: async (chunk: string | Uint8Array) => void written.push(Buffer.from(chunk as Uint8Array)),
    }
    const answer = items(begun, { ...out(''), data: odd }, err('oh\n'), out('no line end'), ended())
    const result = await exec(['x', 'cmd'], { answers: { exec: answer }, stdout })
    expect(Buffer.concat(written)).toEqual(Buffer.concat([odd, Buffer.from('no line end')]))
    expect(result).toMatchObject({ exit: 0, stderr: 'oh\n', disposed: 1 })
  })

  test.each<[object, number]>([
    [{ code: 0 }, 0],
    [{ code: 3 }, 3],
    [{ code: 255 }, 255],
    [{ code: null, signal: 'SIGTERM' }, 143],
    [{ code: null, signal: 'SIGKILL' }, 137],
    [{ code: null, signal: 'SIGKILL', timed_out: true }, 124],
  ])('%j ends with %i', async (end, code) => {
    const result = await exec(['-q', 'x', 'cmd'], items(begun, ended(end)))
    expect(result).toMatchObject({ exit: code, stdout: '', stderr: '' })
  })

  test.each([
    ['file_not_found', 127],
    ['permission_denied', 126],
    ['sandbox_gone', 125],
  ] as const)('%s of the command itself is %i', async (code, exit) => {
    async function* answer(): AsyncGenerator<object> {
      yield begun
      throw new AwError(code, 'It did not work', { data: { program: 'cmd' } })
    }
    expect(await exec(['x', 'cmd'], answer)).toMatchObject({ exit, stderr: 'aw: It did not work\n', disposed: 1 })
  })

  test('whatever is missing but the command is 125', async () => {
    async function* answer(): AsyncGenerator<object> {
      yield begun
      throw new AwError('file_not_found', 'There is no directory')
    }
    expect(await exec(['x', 'cmd'], answer)).toMatchObject({ exit: 125 })
  })

  describe('what the exit code does not tell is a line, for a script too', () => {
    const killed = { code: null, signal: 'SIGKILL' }
    const told = async (end: object, args: readonly string[] = [], answers: Scene['answers'] = {}) =>
      (await exec([...args, 'x', 'cmd'], { answers: { exec: items(begun, out('12345'), ended(end)), ...answers } }))
        .stderr
    const config = (mb: number) => ({ 'config show': { settings: [{ key: 'sandbox.memory_mb', value: mb }] } })

    test('its walls do not keep all that was asked for', async () => {
      const weaker = { ...begun, notes: ['nobody keeps processes here: there is no cgroup'] }
      const answer = items(weaker, out('hi'), ended())
      const line = 'nobody keeps processes here: there is no cgroup\n'
      expect(await exec(['x', 'cmd'], answer)).toMatchObject({ stdout: 'hi', stderr: `aw: ${line}` })
      expect(await exec(['-q', 'x', 'cmd'], answer)).toMatchObject({ stderr: '' })
      const json = await exec(['--json', 'x', 'cmd'], answer)
      expect(JSON.parse(json.stdout.split('\n')[0] ?? '')).toMatchObject({ notes: weaker.notes })
      expect(json.stderr).toBe('')
      const all = await exec(['--all', 't', 'cmd'], answer)
      expect(all.stderr).toContain(`aw: x/main: ${line}`)
    })

    test('its time was over', async () => {
      const late = { ...killed, timed_out: true, duration_ms: 1500 }
      expect(await told(late)).toBe('aw: timed out: it was ended after 1.5 s\n')
      expect(await told(late, ['-q'])).toBe('')
      expect(await told(late, ['--json'])).toBe('')
    })

    test('output was thrown away', async () => {
      expect(await told({ output_cut: true })).toMatch(
        /^aw: output cut: what came after 5 bytes was thrown away; .+\n$/,
      )
    })

    test('it may have needed more memory', async () => {
      const line = 'aw: ended by SIGKILL; perhaps it needed more than --memory-mb 64\n'
      expect(await told(killed, ['--memory-mb', '64'])).toBe(line)
      expect(await told(killed, [], { show: { sandbox: { memory_mb: 64 } }, ...config(1) })).toBe(line)
      expect(await told(killed, [], { show: { sandbox: null }, ...config(64) })).toBe(line)
      expect(await told(killed, [], { show: { sandbox: null }, ...config(0) })).toBe('')
      expect(await told({ code: 137 }, ['--memory-mb', '64'])).toContain('exit 137, as after SIGKILL; perhaps')
      expect(await told({ code: 1 }, ['--memory-mb', '64'])).toBe('')
    })
  })

  test('JSON is an object a line, with base64', async () => {
    const result = await exec(['--json', 'x', 'cmd'], items(begun, out('hi\n'), err('\u0000'), ended({ code: 4 })))
    expect(result).toMatchObject({ exit: 4, stderr: '' })
    const lines = result.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(lines).toEqual([
      begun,
      { type: 'stdout', workspace: 'x/main', data: 'aGkK' },
      { type: 'stderr', workspace: 'x/main', data: 'AA==' },
      ended({ code: 4 }),
    ])
  })

  test('a slow reader is waited for: nothing is read ahead', async () => {
    let asked = 0
    let waiting = 0
    let most = 0
    async function* flood(): AsyncGenerator<object> {
      yield begun
      for (; asked < 50; asked++) {
        most = Math.max(most, asked - waiting)
        yield out('x'.repeat(1000))
      }
      yield ended()
    }
    const write = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      waiting++
    }
    const result = await exec(['x', 'cmd'], {
      answers: { exec: flood },
      stdout: { isTerminal: false, columns: 80, write },
    })
    expect({ exit: result.exit, most, waiting }).toEqual({ exit: 0, most: 0, waiting: 50 })
  })

  test('when nobody reads any more the command is ended, without a word', async () => {
    let left = false
    async function* endless(): AsyncGenerator<object> {
      try {
        yield begun
        for (;;) yield out('y\n')
      } finally {
        left = true
      }
    }
    const stdout = { isTerminal: false, columns: 80, write: () => Promise.reject(new ClosedOutput('EPIPE')) }
    const result = await exec(['x', 'yes'], { answers: { exec: endless }, stdout })
    expect(result).toMatchObject({ exit: 141, stderr: '', disposed: 1 })
    expect(left).toBe(true)
  })
})

describe('everywhere at once', () => {
  const a = { workspace: 't/a' }
  const b = { workspace: 't/b' }

  test('lines are whole and tell whose they are; the first failure counts', async () => {
    const answer = items(
      { ...begun, ...a },
      { ...begun, ...b },
      out('one\ntw', a.workspace),
      out('un\n', b.workspace),
      err('oops', b.workspace),
      out('o\nthree', a.workspace),
      ended({ ...b, code: 7 }),
      ended({ ...a, code: 1 }),
    )
    const result = await exec(['--all', 't', 'cmd'], answer)
    expect(result.stdout).toBe('t/a\tone\nt/b\tun\nt/a\ttwo\nt/a\tthree\n')
    expect(result.stderr).toBe('t/b\toops\nt/b: exit 7\nt/a: exit 1\n0 of 2 ended with 0\n')
    expect(result.exit).toBe(7)
    expect(result.calls[0]?.context?.input).toBeUndefined()
  })

  test('one that could not be run is named, and the others go on', async () => {
    const error = { code: 'sandbox_gone', message: 'The sandbox has ended', hint: null }
    const answer = items({ type: 'failed', ...a, error }, { ...begun, ...b }, ended(b))
    const result = await exec(['--all', 't', 'cmd'], answer)
    expect(result).toMatchObject({ exit: 125, stderr: 't/a: The sandbox has ended\n1 of 2 ended with 0\n' })
    expect((await exec(['-q', '--all', 't', 'cmd'], answer)).stderr).toBe('')
  })

  test('JSON tells the same, an object a line', async () => {
    const result = await exec(
      ['--json', '--all', 't', 'cmd'],
      items({ ...begun, ...a }, out('x', a.workspace), ended(a)),
    )
    expect(result.stdout.trim().split('\n')).toHaveLength(3)
    expect(result).toMatchObject({ exit: 0, stderr: '' })
  })

  test('they have no common input', async () => {
    expect(await exec(['-i', '--all', 't', 'cmd'], {})).toMatchObject({ exit: 125, connections: [] })
  })
})
