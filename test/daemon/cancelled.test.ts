/** A command that is cancelled: every door answers `aborted`, and the log says that it was cancelled. */
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Aw } from '../../src/client/facade.ts'
import { openAw } from '../../src/index.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { place, type Place } from '../cli/built-command.ts'
import { startDaemon, type Served } from './daemon.ts'

const argv = ['sh', '-c', 'trap "" TERM; echo ready; touch begun; while :; do sleep 600; done']
const aborted = expect.objectContaining({ code: 'aborted' }) as Error

/** What the log says of the last command, once it has ended. */
async function lastCommand(at: Place, id: string): Promise<unknown> {
  const last = (): { state: string } | undefined =>
    (JSON.parse(at.aw('history', id, '--json').stdout) as { state: string }[]).at(-1)
  await expect.poll(() => last()?.state, { timeout: 20_000 }).not.toBe('running')
  return last()
}
const cancelled = { state: 'failed', exit: { code: null, signal: 'SIGKILL' }, problem: { code: 'aborted' } }

describe.each(['without a daemon', 'with a daemon'])('%s', (which) => {
  let at: Place
  let daemon: Served | undefined
  let aw: Aw
  beforeAll(async () => {
    at = place()
    daemon = which === 'with a daemon' ? startDaemon({ at, listen: '127.0.0.1:0' }) : undefined
    aw = daemon?.aw ?? (await openAw({ home: at.home }))
    for (const id of ['lib', 'terminal', 'all/a', 'all/b', 'late']) await aw.create({ id })
  })
  afterAll(async () => {
    await aw[Symbol.asyncDispose]()
    await endBoxes(at.home)
    await daemon?.[Symbol.asyncDispose]()
    at[Symbol.dispose]()
  })

  test('through the library', async () => {
    const stop = new AbortController()
    const execution = (await aw.get('lib')).exec(argv, { stdin: 'none', signal: stop.signal })
    const read = (async () => {
      for await (const _ of execution.output) stop.abort()
    })()
    await expect(read).rejects.toEqual(aborted)
    await expect(execution.exit).rejects.toEqual(aborted)
    expect(await lastCommand(at, 'lib')).toMatchObject(cancelled)
    expect(at.aw('history', 'lib').stdout).toContain('aborted')
  })

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('through the command line by %s, for people and for programs', async (signal, code) => {
    const told = async (id: string, ...args: readonly string[]) => {
      await aw.create({ id })
      const child = at.start('exec', ...args, id, '--', ...argv)
      const [stdout, stderr, exit] = [text(child.stdout), text(child.stderr), once(child, 'exit')]
      await begun(at, id)
      child.kill(signal)
      expect(await exit).toEqual([code, null])
      expect(await lastCommand(at, id)).toMatchObject(cancelled)
      return { stdout: await stdout, stderr: await stderr }
    }
    const people = await told(`people/${code}`)
    expect(people).toEqual({ stdout: 'ready\n', stderr: 'aw: Cancelled; the command was ended\n' })
    const { stdout, stderr } = await told(`programs/${code}`, '--json')
    expect(JSON.parse(stderr)).toMatchObject({ code: 'aborted', message: 'Cancelled; the command was ended' })
    expect(stdout).not.toContain('"type":"exit"')
  })

  test('through the command line by a second Ctrl-C', async () => {
    const steps = [
      { until: 'ready', type: '\u0003' },
      { until: 'ignored', type: '\u0003' },
    ]
    const ignores = 'trap "echo ignored" INT; echo ready; while :; do sleep 0.1; done'
    const seen = at.onTerminal(steps, 'exec', 'terminal', 'sh', '-c', ignores)
    expect(seen).toMatchObject({ exit: 130, missed: [] })
    expect(seen.seen).toContain('Cancelled; the command was ended')
    expect(await lastCommand(at, 'terminal')).toMatchObject(cancelled)
  })

  test('in all workspaces of a task', async () => {
    const child = at.start('exec', '--json', '--all', 'all', '--', ...argv)
    const [stdout, stderr, exit] = [text(child.stdout), text(child.stderr), once(child, 'exit')]
    for (const id of ['all/a', 'all/b']) await begun(at, id)
    child.kill('SIGTERM')
    expect(await exit).toEqual([143, null])
    expect(JSON.parse(await stderr)).toMatchObject({ code: 'aborted' })
    const items = (await stdout)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; error?: { code: string } })
    expect(items.filter(({ type }) => type === 'failed').map(({ error }) => error?.code)).toEqual([
      'aborted',
      'aborted',
    ])
    for (const id of ['all/a', 'all/b']) expect(await lastCommand(at, id)).toMatchObject(cancelled)
  })

  test('a timeout stays a timeout, and the end by a signal of its own stays that', async () => {
    const late = at.aw('exec', '--json', '--timeout-ms', '300', 'late', '--', 'sleep', '600')
    expect(late).toMatchObject({ code: 124, stderr: '' })
    expect(await lastCommand(at, 'late')).toMatchObject({ state: 'ended', exit: { timed_out: true }, problem: null })
    expect(at.aw('exec', 'late', '--', 'sh', '-c', 'kill -KILL $$')).toMatchObject({ code: 137 })
    expect(await lastCommand(at, 'late')).toMatchObject({ state: 'ended', exit: { signal: 'SIGKILL' }, problem: null })
  })

  if (which === 'without a daemon') return

  test('over HTTP, by leaving and by cancelling the request', async () => {
    const { url = '' } = daemon ?? {}
    const headers = bearer(at)
    const ask = (id: string, more: object = {}, init: RequestInit = {}): Promise<Response> =>
      fetch(`${url}/api/workspaces/${id}/exec`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...more },
        body: JSON.stringify({ argv }),
        ...init,
      })
    const gone = new AbortController()
    await aw.create({ id: 'left' })
    const left = await ask('left', {}, { signal: gone.signal })
    await begun(at, 'left')
    gone.abort()
    await expect(left.text()).rejects.toThrow('abort')
    expect(await lastCommand(at, 'left')).toMatchObject(cancelled)

    await aw.create({ id: 'called-off' })
    const answer = (await ask('called-off', { 'x-request-id': 'mine' })).text()
    await begun(at, 'called-off')
    expect((await fetch(`${url}/api/requests/mine`, { method: 'DELETE', headers })).status).toBe(202)
    expect(JSON.parse((await answer).trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ error: { code: 'aborted' } })
    expect(await lastCommand(at, 'called-off')).toMatchObject(cancelled)
  })

  test('over MCP', async () => {
    await aw.create({ id: 'tool' })
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(`${daemon?.url}/mcp`), {
      requestInit: { headers: bearer(at) },
    })
    await client.connect(transport)
    const stop = new AbortController()
    const call = client.callTool({ name: 'exec', arguments: { id: 'tool', argv } }, { signal: stop.signal })
    call.catch(() => undefined)
    await begun(at, 'tool')
    stop.abort()
    await expect(call).rejects.toThrow('abort')
    expect(await lastCommand(at, 'tool')).toMatchObject(cancelled)
    await client.close()
  })
})

/** Its command runs, and has said so. */
async function begun(at: Place, id: string): Promise<void> {
  await expect.poll(() => at.aw('fs', 'stat', id, 'work/begun').code, { timeout: 20_000 }).toBe(0)
}

const bearer = (at: Place): { authorization: string } => {
  const { token } = JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'admin').stdout) as { token: string }
  return { authorization: `Bearer ${token}` }
}
