import { describe, expect, test } from 'vitest'
import { echo, item } from '../../../test/support/client.ts'
import { AwError } from '../../domain/errors.ts'
import type { CallContext } from '../../ports/manager.ts'
import type { HandledSignal } from '../io.ts'
import { runCli, type Result, type Scene } from '../../../test/support/cli.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const exec = (args: readonly string[], scene: Scene): Promise<Result> => runCli(['exec', ...args], scene)

describe('input', () => {
  test('what is piped in goes to the command, piece by piece, with its end', async () => {
    let asked = 0
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (; asked < 3; asked++) yield bytes(`${asked}\n`)
    }
    const result = await exec(['x', 'cat'], { answers: { exec: echo() }, input: pieces() })
    expect(result).toMatchObject({ exit: 0, stdout: '0\n1\n2\n', stderr: '{"kind":"end"}\n' })
  })

  test('a terminal is left alone, unless -i says otherwise', async () => {
    const scene = { answers: { exec: echo() }, stdin: 'typed', stdinIsTerminal: true }
    expect(await exec(['x', 'cat'], scene)).toMatchObject({ stdout: '', modes: [] })
    expect(await exec(['-i', 'x', 'cat'], scene)).toMatchObject({ stdout: 'typed', modes: [] })
    const piped = { ...scene, stdinIsTerminal: false }
    expect(await exec(['--no-interactive', 'x', 'cat'], piped)).toMatchObject({ stdout: '' })
  })

  test('input that cannot be read ends the command, and is told', async () => {
    // oxlint-disable-next-line require-yield
    async function* broken(): AsyncGenerator<Uint8Array> {
      throw new AwError('filesystem_error', 'The input cannot be read')
    }
    const result = await exec(['x', 'cat'], { answers: { exec: echo(['end']) }, input: broken() })
    expect(result).toMatchObject({ exit: 125, stderr: expect.stringContaining('The input cannot be read') as string })
  })
})

describe('a terminal', () => {
  test.each([['-t'], ['--tty'], ['-it']])(
    '%s: its size, its keys as they are, and then all as it was',
    async (flag) => {
      const env = { TERM: 'xterm-kitty' }
      const scene = { answers: { exec: echo() }, stdin: '\u0003', stdinIsTerminal: true, terminal: true, env }
      const result = await exec([flag, 'x', 'vi'], scene)
      expect(result).toMatchObject({ exit: 0, stdout: '\u0003', modes: ['raw', 'restored'] })
      expect(result.calls[0]?.input).toEqual({ id: 'x', argv: ['vi'], columns: 100, rows: 30, env })
    },
  )

  test('it is put in order after an error, too', async () => {
    const fail = (): never => {
      throw new AwError('sandbox_unenforceable', 'No walls here')
    }
    const scene = { answers: { exec: fail }, stdinIsTerminal: true, terminal: true }
    expect(await exec(['-t', 'x', 'vi'], scene)).toMatchObject({ exit: 125, modes: ['raw', 'restored'] })
  })

  test('a change of the window is passed on', async () => {
    const scene: Scene = {
      answers: { exec: echo(['end']) },
      stdinIsTerminal: true,
      onTake: (send) => {
        send('SIGWINCH')
        setTimeout(() => send('SIGTERM'), 50)
      },
    }
    const result = await exec(['-t', 'x', 'vi'], scene)
    expect(result.stderr).toContain('{"kind":"resize","columns":100,"rows":30}\n')
    expect(result).toMatchObject({ exit: 143, modes: ['raw', 'restored'] })
  })
})

describe('signals', () => {
  const after = (...names: HandledSignal[]): NonNullable<Scene['onTake']> => {
    return (send) => {
      for (const [i, name] of names.entries()) setTimeout(() => send(name), 50 * (i + 1))
    }
  }

  test('the first Ctrl-C is for the command', async () => {
    const waiting = new Promise<never>(() => undefined)
    async function* silent(): AsyncGenerator<Uint8Array> {
      yield await waiting
    }
    const scene = { answers: { exec: echo() }, input: silent(), onTake: after('SIGINT') }
    const result = await exec(['x', 'sleep'], scene)
    expect(result).toMatchObject({ exit: 130, stderr: '{"kind":"signal","signal":"SIGINT"}\n' })
    expect(result.calls[0]?.context?.signal?.aborted).toBe(false)
  })

  test('the second ends a command that did not mind', async () => {
    const scene = { answers: { exec: echo(['end', 'SIGINT']) }, onTake: after('SIGINT', 'SIGINT') }
    const result = await exec(['x', 'sleep'], scene)
    expect(result.exit).toBe(130)
    expect(result.calls[0]?.context?.signal?.aborted).toBe(true)
  })

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends it at once', async (name, code) => {
    const scene = { answers: { exec: echo(['end', 'SIGINT']) }, onTake: after(name) }
    const result = await exec(['x', 'sleep'], scene)
    const told = 'aw: Cancelled; the command was ended\n'
    expect(result).toMatchObject({ exit: code, stderr: `{"kind":"end"}\n${told}` })
    const json = await exec(['--json', 'x', 'sleep'], { ...scene, answers: { exec: echo(['end', 'SIGINT']) } })
    expect(json.exit).toBe(code)
    expect(JSON.parse(json.stderr)).toMatchObject({ code: 'aborted', message: 'Cancelled; the command was ended' })
  })

  test('before the command began, Ctrl-C ends the beginning', async () => {
    // oxlint-disable-next-line require-yield
    async function* slow(_: unknown, { signal }: CallContext): AsyncGenerator<object> {
      await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped'))))
    }
    const scene = { answers: { exec: slow }, onTake: after('SIGINT') }
    const told = 'aw: Cancelled; the command was not started\n'
    expect(await exec(['x', 'sleep'], scene)).toMatchObject({ exit: 130, stderr: told })
  })

  test('a reader that takes nothing does not keep us from ending', async () => {
    async function* finished(): AsyncGenerator<object> {
      yield item.started()
      yield item.out('x')
      yield item.exit()
    }
    const stdout = { isTerminal: false, columns: 80, write: () => new Promise<void>(() => undefined) }
    const scene = { answers: { exec: finished }, stdout, onTake: after('SIGTERM') }
    expect(await exec(['x', 'cmd'], scene)).toMatchObject({ exit: 143, disposed: 1 })
  })
})
