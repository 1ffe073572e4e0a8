/** The handler for streamable HTTP on a server of Node's own, with real clients. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, describe, test } from 'vitest'
import { collect } from '../support/collect.ts'
import { errorCode } from '../support/mcp.ts'
import { httpScene } from './http.ts'
import { initialize, toolCall } from './stdio.ts'

const eras = [
  ['2025', {}],
  ['2026', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
] as const

describe.each(eras)('a client of %s', (era, options) => {
  test('works, and hears progress', async () => {
    await using scene = await httpScene()
    await using own = await scene.connect({}, options)
    expect(own.session === undefined).toBe(era === '2026')
    expect((await own.client.listTools()).tools).toHaveLength(14)
    const made = await own.ask('create_workspace', { id: 'a' })
    expect(await scene.core.manager.call('show', { id: 'a' })).toMatchObject(made)
    const heard: string[] = []
    const { structuredContent } = await own.client.callTool(
      { name: 'exec', arguments: { id: 'a', argv: ['echo', 'hello'] } },
      { onprogress: ({ message = '' }) => void heard.push(message) },
    )
    expect(structuredContent).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect(heard).toEqual(['hello'])
    const wrong = await own.call('read_file', { id: 'nobody', path: 'x' })
    expect(errorCode(wrong)).toBe('workspace_not_found')
    await expect(own.call('exce')).rejects.toThrow('Did you mean exec?')
  })

  test('writes under the lease that each request names, and its events are those of the request', async () => {
    await using scene = await httpScene()
    const { manager } = scene.core
    await manager.call('create', { id: 'a' })
    let lease: string | undefined
    await using own = await scene.connect({ lease: () => lease }, options)
    const write = () => own.call('write_file', { id: 'a', path: 'x', content: 'text' })
    expect((await write()).isError).toBeUndefined()
    lease = 'ls_00000000000000000000000000'
    expect(errorCode(await write())).toBe('lease_lost')
    lease = (await manager.call('lease acquire', { id: 'a', holder: 'me' })).id
    expect((await write()).isError).toBeUndefined()
    await own.ask('snapshot', { id: 'a', label: 'one' })
    await own.ask('snapshot', { id: 'a', label: 'two' })
    const taken = await collect(manager.stream('events', { type: ['snapshot_created'] }))
    const ids = taken.map(({ meta }) => meta['correlation_id'])
    expect(ids).toEqual([expect.stringMatching(/^cor_\d+$/), expect.stringMatching(/^cor_\d+$/)])
    expect(new Set(ids).size).toBe(2)
  })

  test('cancels a call', async () => {
    await using scene = await httpScene()
    await using own = await scene.connect({}, options)
    const { manager } = scene.core
    await manager.call('create', { id: 'a' })
    const stop = new AbortController()
    const call = own.client.callTool(
      { name: 'exec', arguments: { id: 'a', argv: ['sleep', '600'] } },
      { signal: stop.signal },
    )
    call.catch(() => undefined)
    await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 1 })
    stop.abort()
    await expect(call).rejects.toThrow('abort')
    await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 0 })
  })

  test('goes away in the middle of a call: it is ended, and the log says so', async () => {
    await using scene = await httpScene()
    const own = await scene.connect({}, options)
    const { manager } = scene.core
    await manager.call('create', { id: 'a' })
    own.call('exec', { id: 'a', argv: ['sleep', '600'] }).catch(() => undefined)
    await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 1 })
    await own.client.close()
    await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 0 })
    expect(await manager.call('history', { id: 'a' })).toMatchObject([{ exit: { signal: 'SIGKILL' } }])
  })

  test('whose rights have ended: what it does ends too', async () => {
    await using scene = await httpScene()
    await using own = await scene.connect({ id: 'revoked' }, options)
    await using other = await scene.connect({ id: 'other' }, options)
    const { manager } = scene.core
    await manager.call('create', { id: 'a' })
    own.call('exec', { id: 'a', argv: ['sleep', '600'] }).catch(() => undefined)
    await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 1 })
    await scene.mcp.end('revoked')
    await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 0 })
    expect(await other.ask('list_workspaces')).toMatchObject({ workspaces: [{ workspace_id: 'a/main' }] })
  })

  test('for one workspace', async () => {
    await using scene = await httpScene()
    await scene.core.manager.call('create', { id: 'mine' })
    await using own = await scene.connect({ workspace: 'mine' }, options)
    expect((await own.client.listTools()).tools).toHaveLength(10)
    expect(await own.ask('exec', { argv: ['true'] })).toMatchObject({ workspace: 'mine/main' })
  })

  test('is still served when everything ends: what it does is undone first', async () => {
    const scene = await httpScene()
    const own = await scene.connect({}, options)
    const { manager } = scene.core
    await manager.call('create', { id: 'a' })
    own.call('exec', { id: 'a', argv: ['sleep', '600'] }).catch(() => undefined)
    await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 1 })
    await scene[Symbol.asyncDispose]()
    expect(await manager.call('show', { id: 'a' })).toMatchObject({ commands: 0 })
    await own.client.close()
  })
})

test('whoever only listens is let go when the daemon is about to end, and a call goes on', async () => {
  await using scene = await httpScene()
  await using own = await scene.connect({}, eras[1][1])
  const { manager } = scene.core
  await manager.call('create', { id: 'a' })
  const listening = await own.client.listen({ toolsListChanged: true })
  const over = own.call('exec', { id: 'a', argv: ['sleep', '600'] }).catch(() => 'broken off')
  await expect.poll(() => manager.call('show', { id: 'a' })).toMatchObject({ commands: 1 })
  scene.mcp.hush()
  expect(await listening.closed).toBe('graceful')
  expect(await manager.call('show', { id: 'a' })).toMatchObject({ commands: 1 })
  await own.client.close()
  expect(await over).toBe('broken off')
})

describe('sessions', () => {
  test('are their caller’s alone, and only for what they were opened for', async () => {
    await using scene = await httpScene()
    await using own = await scene.connect({ id: 'one' })
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const as = (headers: Record<string, string>) =>
      scene.post(list, { 'mcp-session-id': own.session ?? '', ...headers })
    expect((await as({ 'x-caller': 'one' })).status).toBe(200)
    expect((await as({ 'x-caller': 'two' })).status).toBe(404)
    expect((await as({ 'x-caller': 'one', 'x-workspace': 'a' })).status).toBe(404)
    expect((await as({ 'mcp-session-id': 'made-up' })).status).toBe(404)
    const end = await fetch(scene.url, {
      method: 'DELETE',
      headers: { 'mcp-session-id': own.session ?? '', 'x-caller': 'two' },
    })
    expect(end.status).toBe(404)
    expect((await as({ 'x-caller': 'one' })).status).toBe(200)
  })

  test('end with DELETE', async () => {
    await using scene = await httpScene()
    await using own = await scene.connect()
    const headers = { 'mcp-session-id': own.session ?? '' }
    expect((await fetch(scene.url, { method: 'DELETE', headers })).status).toBe(200)
    expect((await scene.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers)).status).toBe(404)
  })

  test('are limited: one that is idle makes room, one that is in use does not', async () => {
    await using scene = await httpScene({ sessions: { mostOfOne: 2 } })
    const open = async (): Promise<string> => {
      const response = await scene.post(initialize('2025-06-18'))
      expect(response.status).toBe(200)
      await response.text()
      return response.headers.get('mcp-session-id') ?? ''
    }
    const alive = async (id: string): Promise<boolean> => {
      const response = await scene.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-session-id': id })
      await response.text()
      return response.status === 200
    }
    const [first, second] = [await open(), await open()]
    expect(await alive(first)).toBe(true)
    const third = await open()
    expect([await alive(second), await alive(first), await alive(third)]).toEqual([false, true, true])
    // Both are listened to now.
    const streams = [first, third].map((id) =>
      fetch(scene.url, { headers: { accept: 'text/event-stream', 'mcp-session-id': id } }),
    )
    const opened = await Promise.all(streams)
    expect(opened.map(({ status }) => status)).toEqual([200, 200])
    expect((await scene.post(initialize('2025-06-18'))).status).toBe(503)
    await opened[0]?.body?.cancel()
    await expect.poll(async () => (await scene.post(initialize('2025-06-18'))).status).toBe(200)
  })

  test('that nobody uses end by themselves', async () => {
    await using scene = await httpScene({ sessions: { idleMs: 50 } })
    const response = await scene.post(initialize('2025-06-18'))
    await response.text()
    const headers = { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }
    await expect
      .poll(async () => (await scene.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers)).status, {
        interval: 200,
      })
      .toBe(404)
  })
})

describe('what no client would send', () => {
  test.each([
    ['no JSON', '{"jsonrpc":', {}, 400, -32700],
    ['no message', '{"hello":1}', {}, 400, -32600],
    ['nothing', '', {}, 400, -32700],
    ['another type', '{}', { 'content-type': 'text/plain' }, 415, -32000],
    ['a call without a session', toolCall(1, 'exec', {}), {}, 400, -32000],
    ['more than a message may have', ' '.repeat(9_000_000), {}, 413, -32000],
  ])('%s', async (_, body, headers, status, code) => {
    await using scene = await httpScene()
    const response = await scene.post(body, headers)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
  })

  test('a body without a length that does not end, and one that breaks off', async () => {
    await using scene = await httpScene()
    const { port } = new URL(scene.url)
    const head = 'POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const piece = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`
    const endless = connect(Number(port), '127.0.0.1')
    endless.on('error', () => undefined)
    endless.write(head + piece.repeat(140))
    const [first] = (await once(endless, 'data')) as [Buffer]
    expect(first.toString()).toContain('413')
    endless.destroy()
    const broken = connect(Number(port), '127.0.0.1')
    broken.write(head + piece)
    await new Promise((resolve) => setTimeout(resolve, 50))
    broken.destroy()
    await expect.poll(async () => (await scene.post(initialize('2025-06-18'))).status).toBe(200)
  })

  test('other methods, and a stream without a session', async () => {
    await using scene = await httpScene()
    expect((await fetch(scene.url)).status).toBe(400)
    expect((await fetch(scene.url, { method: 'PUT', body: '{}' })).status).toBe(400)
    await using own = await scene.connect()
    const headers = { 'mcp-session-id': own.session ?? '' }
    expect((await fetch(scene.url, { method: 'PUT', headers, body: '{}' })).status).toBe(405)
    const version = { ...headers, 'mcp-protocol-version': '1999-01-01' }
    expect((await scene.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, version)).status).toBe(400)
  })

  test('versions are agreed on', async () => {
    await using scene = await httpScene()
    for (const [asked, answered] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-06-18', '2025-06-18'],
      ['1999-01-01', '2025-11-25'],
    ] as const) {
      const text = await (await scene.post(initialize(asked))).text()
      expect(text).toContain(`"protocolVersion":"${answered}"`)
    }
  })
})
