import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { AwError } from '../domain/errors.ts'
import { ClosedOutput } from './io.ts'
import { runCli, sampleWorkspace } from '../../test/support/cli.ts'

const workspace = sampleWorkspace()
const missing = new AwError('workspace_not_found', 'There is no workspace nope/main', {
  hint: 'See them with: aw list',
  data: { name: 'nope/main' },
})
const fail = (): never => {
  throw missing
}

describe('the contract for programs', () => {
  test('create prints the path and nothing else', async () => {
    const result = await runCli(
      ['create', '--id', 'task-1/agent-2', '--config', '{"max_size_mb":5}', '--profile', 'ipa'],
      {
        answers: { create: workspace },
      },
    )
    expect(result).toMatchObject({ exit: 0, stdout: `${String(workspace['path'])}\n`, stderr: '' })
    expect(result.calls[0]?.input).toEqual({ id: 'task-1/agent-2', config: { max_size_mb: 5 }, profile: 'ipa' })
  })

  test('destroy prints its line, with or without a tree to come back', async () => {
    const answers = { destroy: { removed: true, workspace: sampleWorkspace({ state: 'trashed' }) } }
    const result = await runCli(['destroy', '--id', 'a/b', '--force'], { answers })
    expect(result).toMatchObject({ exit: 0, stdout: 'Workspace destroyed\n', stderr: '' })
    expect(result.calls[0]?.input).toEqual({ id: 'a/b', force: true })
    const none = await runCli(['destroy', 'a/b', '--if-exists'], { answers: { destroy: { removed: false } } })
    expect(none).toMatchObject({ exit: 0, stdout: 'Nothing to destroy\n' })
  })

  test('list --format json is one line with an array, and does not measure', async () => {
    const result = await runCli(['list', '--task-id', 'fix-login', '--format', 'json'], {
      answers: { list: [workspace] },
    })
    expect(result.stdout.split('\n')).toHaveLength(2)
    expect(JSON.parse(result.stdout)).toMatchObject([
      { workspace_id: 'fix-login/claude', id: 'ws_01', path: workspace['path'], state: 'ready' },
    ])
    expect(result.calls[0]?.input).toEqual({ task: 'fix-login' })
  })

  test('an error is one object on standard error, with its exit code', async () => {
    const result = await runCli(['path', 'nope', '--json'], { answers: { path: fail } })
    expect(result).toMatchObject({ exit: 3, stdout: '' })
    expect(result.stderr.split('\n')).toHaveLength(2)
    expect(JSON.parse(result.stderr)).toEqual({
      code: 'workspace_not_found',
      message: 'There is no workspace nope/main',
      hint: 'See them with: aw list',
      data: { name: 'nope/main' },
    })
  })

  test('a mistake in the flags has the form that was asked for', async () => {
    const result = await runCli(['path', '--nope', '--format', 'json'])
    expect(result.exit).toBe(2)
    expect(JSON.parse(result.stderr)).toMatchObject({ code: 'invalid_input', data: { flag: '--nope' } })
  })

  test('exists answers by exit code and word, in JSON too', async () => {
    expect(await runCli(['exists', 'x'], { answers: { exists: { exists: true } } })).toMatchObject({
      exit: 0,
      stdout: 'yes\n',
    })
    expect(await runCli(['exists', 'x'], { answers: { exists: { exists: false } } })).toMatchObject({
      exit: 3,
      stdout: 'no\n',
    })
    const json = await runCli(['exists', 'x', '--json'], { answers: { exists: { exists: false } } })
    expect(json).toMatchObject({ exit: 3, stdout: '{"exists":false}\n', stderr: '' })
  })
})

describe('errors for people', () => {
  test('message and hint, without colours in a pipe', async () => {
    const result = await runCli(['show', 'nope'], { answers: { show: fail } })
    expect(result.stderr).toBe('aw: There is no workspace nope/main\n  hint: See them with: aw list\n')
    expect(result.exit).toBe(3)
  })

  test('a defect says so; its stack is shown only when asked for', async () => {
    const defect = (): never => {
      throw new TypeError('x is not a function')
    }
    const plain = await runCli(['show', 'a'], { answers: { show: defect } })
    expect(plain).toMatchObject({ exit: 1 })
    expect(plain.stderr).toContain('AW_DEBUG=1')
    expect(plain.stderr).not.toContain('    at ')
    const debug = await runCli(['show', 'a'], { answers: { show: defect }, env: { AW_DEBUG: '1' } })
    expect(debug.stderr).toContain('    at ')
  })

  test('what an agent named cannot write on the terminal', async () => {
    const sly = (): never => {
      throw new AwError('file_not_found', 'There is no file \u001b[2Jgone')
    }
    const result = await runCli(['fs', 'read', 'a', 'b'], { answers: { 'fs read': sly }, terminal: true })
    expect(result.stderr).toContain(String.raw`\x1b[2Jgone`)
  })
})

describe('many at once', () => {
  const answers = { destroy: ({ id }: { id: string }) => (id === 'nope' ? fail() : { removed: true }) }

  test('each has a line of its own, and the first failure is the exit code', async () => {
    const result = await runCli(['destroy', 'a', 'nope', 'b'], { answers })
    expect(result.exit).toBe(3)
    expect(result.stdout).toBe('a\tWorkspace destroyed\nb\tWorkspace destroyed\n')
    expect(result.stderr).toContain('aw: There is no workspace nope/main')
  })

  test('in JSON one array tells all', async () => {
    const result = await runCli(['destroy', 'a', '--id', 'nope', '--json'], { answers })
    expect(result).toMatchObject({ exit: 3, stderr: '' })
    expect(JSON.parse(result.stdout)).toEqual([
      { id: 'nope', ok: false, error: missing.toJSON() },
      { id: 'a', ok: true, result: { removed: true } },
    ])
  })
})

describe('around a call', () => {
  test('global flags go to the core, from either side of the command', async () => {
    const args = ['--home', '/h', '--set', 'git.enabled=true', 'path', 'x', '--config-file=c.toml', '--set', 'a.b=c=d']
    const result = await runCli(args, { answers: { path: { path: '/p' } }, env: { A: 'b' }, cwd: '/w' })
    expect(result.connections).toEqual([
      { home: '/h', configFile: 'c.toml', set: { 'git.enabled': 'true', 'a.b': 'c=d' }, env: { A: 'b' }, cwd: '/w' },
    ])
    expect(result.disposed).toBe(1)
  })

  test("a command's own flag wins over a global one of the same name", async () => {
    const result = await runCli(['--set', 'git.enabled=true', 'label', 'x', '--set', 'sprint=12'], {
      answers: { label: workspace },
    })
    expect(result.calls[0]?.input).toEqual({ id: 'x', labels: { sprint: '12' } })
    expect(result.connections[0]?.set).toEqual({ 'git.enabled': 'true' })
  })

  test('the core is closed after a failure, and not opened for a wrong command line', async () => {
    expect((await runCli(['path', 'x'], { answers: { path: fail } })).disposed).toBe(1)
    expect((await runCli(['path'])).connections).toEqual([])
  })

  test('nobody reads any more: the end is quiet', async () => {
    const stdout = { isTerminal: false, columns: 80, write: () => Promise.reject(new ClosedOutput('EPIPE')) }
    const result = await runCli(['path', 'x'], { answers: { path: { path: '/p' } }, stdout })
    expect(result).toMatchObject({ exit: 0, stderr: '', disposed: 1 })
  })

  test('nobody reads any more: what was asked for of the others is done all the same', async () => {
    const stdout = { isTerminal: false, columns: 80, write: () => Promise.reject(new ClosedOutput('EPIPE')) }
    const result = await runCli(['destroy', 'x', 'y', 'z'], { answers: { destroy: workspace }, stdout })
    expect(result).toMatchObject({ exit: 0, stderr: '', disposed: 1 })
    expect(result.calls).toHaveLength(3)
  })

  test('Ctrl-C ends following without a message', async () => {
    const controller = new AbortController()
    async function* forever(): AsyncGenerator {
      yield { at: '2030-01-01T00:00:00.000Z', type: 'workspace_created', stream: 'ws_1', data: {}, meta: {} }
      controller.abort()
      throw new AwError('aborted', 'Stopped')
    }
    const result = await runCli(['events', '--follow'], { answers: { events: forever }, signal: controller.signal })
    expect(result).toMatchObject({ exit: 130, stderr: '' })
    expect(result.stdout).toContain('workspace_created')
  })

  test('Ctrl-C says what was not made, whatever part of the work noticed', async () => {
    const controller = new AbortController()
    const stop = (message: string, data = {}) => {
      controller.abort()
      throw new AwError('aborted', message, { data })
    }
    const signal = controller.signal
    const create = await runCli(['create', 'h1'], { answers: { create: () => stop('git was cancelled') }, signal })
    expect(create).toMatchObject({ exit: 130, stderr: 'aw: Cancelled; h1/main was not made\n' })
    const cp = await runCli(['cp', '/a', 'h1:work'], { answers: { cp: () => stop('The copy was cancelled') }, signal })
    expect(cp).toMatchObject({ exit: 130, stderr: 'aw: Cancelled; nothing was copied to h1:work\n' })
    const sent = { export: () => stop('git was cancelled') }
    for (const [words, told] of [
      ['--bundle b.git', '/somewhere/b.git was not written'],
      ['--branch x --repo /r', 'the branch x was not made'],
      ['--patch', 'all of it was not written'],
    ] as const)
      expect((await runCli(['export', 'h1', ...words.split(' ')], { answers: sent, signal })).stderr).toBe(
        `aw: Cancelled; ${told}\n`,
      )
    const restore = { restore: () => stop('The caller cancelled this') }
    expect((await runCli(['restore', 'h1', 'head'], { answers: restore, signal })).stderr).toBe('aw: Cancelled\n')
    const fork = { fork: () => stop('The work on a tree was cancelled') }
    const forked = await runCli(['fork', 'h1', 'h2'], { answers: fork, signal })
    expect(forked.stderr).toBe('aw: Cancelled; no fork was made\n')
    const some = { snapshot: () => stop('Stopped: 1 of 2', { made: ['x'] }) }
    expect((await runCli(['snapshot', 'h1'], { answers: some, signal })).stderr).toBe('aw: Stopped: 1 of 2\n')
  })

  test('the last news of silent work is shown when the patience is over', async () => {
    const silent = async (_: unknown, context: { onProgress?: (news: unknown) => void }): Promise<unknown> => {
      context.onProgress?.({ phase: 'beginning' })
      context.onProgress?.({ phase: 'asking the repository' })
      await sleep(400)
      return workspace
    }
    const seen = await runCli(['create', 'x'], { answers: { create: silent }, terminal: true })
    expect(seen.stderr).toBe('\r\u001b[Kasking the repository…\r\u001b[K')
    const blink = (_: unknown, context: { onProgress?: (news: unknown) => void }): unknown => {
      context.onProgress?.({ phase: 'beginning' })
      return workspace
    }
    expect((await runCli(['create', 'x'], { answers: { create: blink }, terminal: true })).stderr).toBe('')
  })

  test('progress is for terminals', async () => {
    let now = 0
    const working = (_: unknown, context: { onProgress?: (news: unknown) => void }): unknown => {
      context.onProgress?.({ phase: 'copying', files: 2, bytes: 2048 })
      return workspace
    }
    const piped = await runCli(['create', 'x'], { answers: { create: working } })
    expect(piped.stderr).toBe('')
    const scene = {
      answers: { create: working },
      terminal: true,
      get now() {
        return (now += 1000)
      },
    }
    const seen = await runCli(['create', 'x'], scene)
    expect(seen.stderr).toBe('\r\u001b[Kcopying: 2 files, 2.0 KiB\r\u001b[K')
  })
})
