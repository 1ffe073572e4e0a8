import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { echo, given } from '../../../test/support/client.ts'
import { AwError } from '../../domain/errors.ts'
import type { CallContext } from '../../ports/manager.ts'
import { people, runCli, sampleWorkspace, shown, type Scene } from '../../../test/support/cli.ts'

const sandbox = {
  id: 'box_1',
  isolation: 'namespace',
  network: 'allowlist',
  allow: ['npm', 'github'],
  mount: '/workspace',
  started_at: '2029-12-31T23:00:00.000Z',
}

describe('shell', () => {
  const scene: Scene = {
    answers: { exec: echo() },
    stdin: 'ls\r',
    stdinIsTerminal: true,
    terminal: true,
    env: { NO_COLOR: '1' },
  }

  test('a shell on the terminal', async () => {
    const result = await runCli(['shell', 'x', '--allow', 'npm'], scene)
    expect(result).toMatchObject({ exit: 0, stdout: 'ls\r', modes: ['raw', 'restored'] })
    expect(result.calls[0]).toMatchObject({
      name: 'exec',
      input: { id: 'x', allow: ['npm'], columns: 100, rows: 30, argv: ['/bin/sh', '-c', expect.any(String) as string] },
    })
  })

  test('or another program, whose flags are its own', async () => {
    const result = await runCli(['shell', 'x', '-e', 'A=b', '--', 'python3', '-i', '--json'], scene)
    expect(result.calls[0]?.input).toMatchObject({ argv: ['python3', '-i', '--json'], env: { A: 'b' } })
    expect((await runCli(['shell', 'x', 'python3', '-i'], scene)).calls[0]?.input).toMatchObject({
      argv: ['python3', '-i'],
    })
  })

  test.each([{ stdinIsTerminal: false }, { terminal: false }])('not without a terminal: %j', async (less) => {
    const result = await runCli(['shell', 'x'], { ...scene, ...less })
    expect(result).toMatchObject({ exit: 125, connections: [] })
    expect(result.stderr).toContain('hint: Run a command without one: aw exec x -- COMMAND')
  })

  test('it must know where', async () => {
    expect((await runCli(['shell'], scene)).stderr).toContain('shell needs ID')
  })
})

describe('connect', () => {
  test('standard input goes there, what comes back is written', async () => {
    async function* upper(_: unknown, context: CallContext): AsyncGenerator<object> {
      for await (const piece of given(context)) {
        if (piece.kind === 'end') break
        if (piece.kind === 'data') yield { data: Buffer.from(Buffer.from(piece.data).toString().toUpperCase()) }
      }
    }
    const scene = { answers: { connect: upper }, stdin: 'hello' }
    const result = await runCli(['connect', 'x', '3000'], scene)
    expect(result).toMatchObject({ exit: 0, stdout: 'HELLO', calls: [{ input: { id: 'x', port: 3000 } }] })
    expect((await runCli(['connect', 'x', '3000', '--json'], scene)).stdout).toBe('{"data":"SEVMTE8="}\n')
  })

  test('an error keeps its own code', async () => {
    const fail = (): never => {
      throw new AwError('invalid_state', 'No sandbox')
    }
    expect(await runCli(['connect', 'x', '3000'], { answers: { connect: fail } })).toMatchObject({ exit: 4 })
  })
})

describe('forward', () => {
  test('prints the address, carries connections, and ends with Ctrl-C', async () => {
    const controller = new AbortController()
    async function* answer(): AsyncGenerator<object> {
      yield { data: Buffer.from('from inside') }
    }
    let printed = ''
    let heard = ''
    const write = async (chunk: string | Uint8Array): Promise<void> => {
      printed += String(chunk)
      const socket = connect(Number(/:(\d+)/.exec(printed)?.[1]), '127.0.0.1')
      for await (const data of socket) heard += String(data)
      controller.abort()
    }
    const result = await runCli(['forward', 'x', '0:3000'], {
      answers: { show: sampleWorkspace({ sandbox }), connect: answer },
      stdout: { isTerminal: false, columns: 80, write },
      signal: controller.signal,
    })
    expect(result).toMatchObject({ exit: 130, stderr: '' })
    expect(printed).toMatch(/^127\.0\.0\.1:\d+\n$/)
    expect(heard).toBe('from inside')
  })

  test('a sandbox that is gone ends it', async () => {
    const gone = (): never => {
      throw new AwError('sandbox_gone', 'It has ended')
    }
    const write = async (chunk: string | Uint8Array): Promise<void> => {
      connect((JSON.parse(String(chunk)) as { local_port: number }).local_port, '127.0.0.1').on(
        'error',
        () => undefined,
      )
    }
    const result = await runCli(['forward', 'x', '0:3000', '--json'], {
      answers: { show: sampleWorkspace({ sandbox }), connect: gone },
      stdout: { isTerminal: false, columns: 80, write },
    })
    expect(result.exit).toBe(9)
    expect(JSON.parse(result.stderr)).toMatchObject({ code: 'sandbox_gone' })
  })

  test('there must be a sandbox, and a port', async () => {
    const none = await runCli(['forward', 'x', '3000'], { answers: { show: sampleWorkspace() } })
    expect(none).toMatchObject({ exit: 4, stderr: expect.stringContaining('aw start fix-login/claude') as string })
    for (const args of [[], ['x'], ['x', 'http'], ['x', '0'], ['x', '70000'], ['x', '1:2:3'], ['x', '1', '2']])
      expect(await runCli(['forward', ...args])).toMatchObject({ exit: 2, connections: [] })
  })
})

describe('env', () => {
  const answers = { 'env set': [{ name: 'CI', secret: false }], 'env unset': [], 'env list': [] }
  const inputOf = async (args: readonly string[], scene: Scene = {}) =>
    (await runCli(['env', ...args], { answers, ...scene })).calls[0]?.input

  test('as people type it', async () => {
    expect(await inputOf(['set', 'x', 'CI=1', 'A=b=c'])).toEqual({ id: 'x', env: { CI: '1', A: 'b=c' } })
    expect(await inputOf(['set', 'x', '--env', 'CI=1', 'B='])).toEqual({ id: 'x', env: { CI: '1', B: '' } })
    expect(await inputOf(['unset', 'x', 'CI', 'A'])).toEqual({ id: 'x', names: ['CI', 'A'] })
    expect(await inputOf(['list', 'x'])).toEqual({ id: 'x' })
  })

  test('a secret comes from standard input and nowhere else', async () => {
    const secret = { id: 'x', secret: 'KEY', value: 'hidden\n' }
    expect(await inputOf(['set', 'x', '--secret', 'KEY'], { stdin: 'hidden\n' })).toEqual(secret)
    const flag = await runCli(['env', 'set', 'x', '--secret', 'KEY', '--value', 'seen'], { answers })
    expect(flag).toMatchObject({ exit: 2, connections: [] })
    expect((await runCli(['help', 'env', 'set'])).stdout).not.toContain('--value')
  })

  test('or from the keys, which are not shown', async () => {
    const keys = { stdin: 'hüx\u007fden\r', stdinIsTerminal: true }
    const result = await runCli(['env', 'set', 'x', '--secret', 'KEY'], { answers, ...keys })
    expect(result.calls[0]?.input).toEqual({ id: 'x', secret: 'KEY', value: 'hüden' })
    expect(result).toMatchObject({ stderr: 'Value of KEY (not shown): \r\n', modes: ['raw', 'restored'] })
    const stopped = await runCli(['env', 'set', 'x', '--secret', 'KEY'], { answers, ...keys, stdin: 'a\u0003' })
    expect(stopped).toMatchObject({ exit: 130, connections: [], modes: ['raw', 'restored'] })
  })

  test('a value that was forgotten', async () => {
    const result = await runCli(['env', 'set', 'x', 'KEY'], { answers })
    expect(result).toMatchObject({ exit: 2, connections: [] })
    expect(result.stderr).toContain('env set takes NAME=VALUE, not "KEY"')
    expect(result.stderr).toContain('aw env set x --secret KEY < FILE')
  })

  test('names are shown, never values', async () => {
    const all = [
      { name: 'CI', secret: false },
      { name: 'KEY', secret: true },
    ]
    expect((await shown(['env', 'list', 'x'], all)).stdout).toBe(
      'NAME  KIND\nCI    plain\nKEY   secret, as a file: KEY_FILE\n',
    )
    expect((await shown(['env', 'list', 'x'], all, {})).stdout).toBe('CI\tplain\nKEY\tsecret, as a file: KEY_FILE\n')
    expect(await shown(['env', 'list', 'x'], [])).toMatchObject({ stdout: '', stderr: 'It has no variables\n' })
  })
})

describe('what is shown', () => {
  const walls = 'namespace, network allowlist (npm, github), at /workspace'

  test('start and stop', async () => {
    const started = await shown(['start', 'x'], sampleWorkspace({ state: 'running', sandbox }))
    expect(started.stdout).toBe(`fix-login/claude is started: ${walls}\n`)
    expect(started.stderr).toContain('aw exec fix-login/claude -- COMMAND')
    expect((await shown(['stop', 'x'], sampleWorkspace())).stdout).toBe('fix-login/claude is stopped\n')
    expect((await shown(['stop', 'x', '-q'], sampleWorkspace())).stdout).toBe('')
    const none = { ...sampleWorkspace(), stopped: false }
    expect(await shown(['stop', 'x'], none)).toMatchObject({ exit: 0, stdout: 'fix-login/claude has no sandbox\n' })
  })

  test('of several each line has its name once', async () => {
    const answers = { start: sampleWorkspace({ state: 'running', sandbox }), stop: sampleWorkspace() }
    const { stdout } = await runCli(['start', 'x', 'y'], { answers })
    expect(stdout).toBe(`fix-login/claude is started: ${walls}\n`.repeat(2))
    expect((await runCli(['stop', 'x', 'y'], { answers })).stdout).toBe('fix-login/claude is stopped\n'.repeat(2))
  })

  test('show and list tell of it', async () => {
    const running = sampleWorkspace({ state: 'running', sandbox, commands: 2 })
    const page = (await shown(['show', 'x'], running, {})).stdout
    expect(page).toContain(`sandbox\t${walls}, 2029-12-31T23:00:00.000Z\ncommands\t2 running\n`)
    expect((await shown(['show', 'x'], sampleWorkspace())).stdout).not.toContain('sandbox')
    expect((await shown(['list'], [running])).stdout).toMatch(/claude +running \(exec\)/)
    expect((await shown(['list'], [sampleWorkspace({ commands: 1 })])).stdout).toMatch(/claude +ready \(exec\)/)
    expect((await shown(['list'], [sampleWorkspace({ state: 'running', sandbox })])).stdout).toMatch(
      /claude +running +1/,
    )
  })

  const command = (more: object) => ({
    command: 'cmd_1',
    argv: ['npm', 'test'],
    argv_cut: false,
    cwd: 'work',
    isolation: 'namespace',
    actor: 'user:0',
    started_at: '2029-12-31T23:59:00.000Z',
    state: 'ended',
    exit: { code: 0, signal: null, duration_ms: 1199.6, timed_out: false },
    problem: null,
    snapshot: null,
    files_changed: null,
    ...more,
  })

  test('history', async () => {
    const commands = [
      command({ files_changed: 12 }),
      command({ argv: ['sh', '-c', 'echo "it\'s"'], exit: { code: 2, signal: null, duration_ms: 3 } }),
      command({ exit: { code: null, signal: 'SIGKILL', duration_ms: 5, timed_out: true } }),
      command({ exit: { code: null, signal: 'SIGTERM', duration_ms: 5 }, argv_cut: true }),
      command({ state: 'failed', exit: null, problem: { code: 'lost', message: 'died' } }),
      command({ state: 'running', exit: null, argv: ['sleep', '\u001b[2J'] }),
    ]
    const page = await shown(['history', 'x'], commands)
    expect(page.stdout.split('\n')).toEqual([
      'WHEN  EXIT         MS  CHANGED  COMMAND',
      '1m    0          1200       12  npm test',
      String.raw`1m    2             3        -  sh -c 'echo "it'\''s"'`,
      '1m    timed out     5        -  npm test',
      '1m    SIGTERM       5        -  npm test …',
      '1m    lost          -        -  npm test',
      String.raw`1m    running       -        -  sleep '\x1b[2J'`,
      '',
    ])
    expect(page.stderr).toBe('1 command running\n')
    expect((await shown(['history', 'x'], commands.slice(0, 1), {})).stdout).toBe(
      '2029-12-31T23:59:00.000Z\t0\t1200\t12\tnpm test\n',
    )
    expect((await shown(['history', 'x'], [])).stderr).toBe('No command has run in it yet\n')
  })

  test('requests', async () => {
    const request = { time: '2029-12-31T23:59:00.000Z', method: 'CONNECT', host: 'registry.npmjs.org', port: 443 }
    const all = [
      { ...request, verdict: 'allowed', reason: null, up: 900, down: 2_000_000, ms: 80 },
      {
        ...request,
        host: 'evil.example',
        port: null,
        verdict: 'refused',
        reason: 'not_allowed',
        up: 0,
        down: 0,
        ms: 1,
      },
    ]
    expect((await shown(['requests', 'x'], all)).stdout).toBe(
      [
        'WHEN  VERDICT     UP     DOWN  MS  WHAT',
        '1m    allowed  900 B  1.9 MiB  80  CONNECT registry.npmjs.org:443',
        '1m    refused    0 B      0 B   1  CONNECT evil.example (not_allowed)',
        '',
      ].join('\n'),
    )
    expect((await shown(['requests', 'x'], all.slice(0, 1), {})).stdout).toBe(
      '2029-12-31T23:59:00.000Z\tallowed\t900\t2000000\t80\tCONNECT registry.npmjs.org:443\n',
    )
    expect((await shown(['requests', 'x'], [])).stderr).toBe('Nothing was asked of the network\n')
  })

  test('a restore that ended what ran says so', async () => {
    const restored = {
      workspace: 'x/main',
      snapshot: 'snap_1',
      branch: 'main',
      kept: null,
      paths: null,
      differences: [],
      split: [],
    }
    for (const ended of [true, false]) {
      const answers = { undo: { ...restored, added: 1, changed: 0, removed: 0, ended } }
      const result = await runCli(['undo', 'x', '--restart'], { ...people, answers })
      expect(result.stdout.includes('What ran in its sandbox was ended')).toBe(ended)
      expect(result.calls[0]?.input).toEqual({ id: 'x', restart: true })
    }
  })
})
