/** Tokens at the daemon as it is: what they are told, what they may do, how often, and for how long. */
import { once } from 'node:events'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { connectedTo, type Connected } from '../support/mcp.ts'
import { startDaemon, type Served } from './daemon.ts'

interface Holder {
  readonly secret: string
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  post(path: string, body: object): Promise<Response>
  mcp(): Promise<Connected>
}

function holder({ at, url = '' }: Served, ...flags: readonly string[]): Holder {
  const made = at.aw('--json', 'token', 'create', ...flags)
  const { token: secret } = JSON.parse(made.stdout) as { token: string }
  const headers = { authorization: `Bearer ${secret}` }
  return {
    secret,
    get: (path, more = {}) => fetch(`${url}${path}`, { headers: { ...headers, ...more } }),
    post: (path, body) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    mcp: () => {
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
      return connectedTo(new Client({ name: 'test', version: '1' }), (client) => client.connect(transport))
    },
  }
}

test('through no door is a token for a workspace told of the machine, of others, or of a secret', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const { at, aw, url = '' } = daemon
  const [mine, theirs] = [await aw.create({ id: 'mine' }), await aw.create({ id: 'elsewhere-7' })]
  await aw.manager.call('env set', { id: 'mine', secret: 'API_KEY', value: 'the-value-of-it' })
  await aw.manager.call('fs write', { id: 'mine', path: 'work/file', content: 'content' })
  const agent = holder(daemon, '--workspace', 'mine')

  const told: string[] = []
  const hear = async (answer: Response, status: number): Promise<void> => {
    const text = `${JSON.stringify([...answer.headers])}${await answer.text()}`
    expect([answer.status, text]).toEqual([status, text])
    told.push(text)
  }
  const session = '/api/session/workspace'
  await hear(await agent.post(`${session}/snapshots`, { label: 'good' }), 201)
  await hear(await agent.post(`${session}/restore`, { snapshot: 'good' }), 200)
  await hear(await agent.post(`${session}/restore`, { snapshot: 'absent' }), 400)
  for (const path of ['', '/snapshots', '/describe']) await hear(await agent.get(`${session}${path}`), 200)
  await hear(await agent.get('/api/openapi.json'), 200)
  await hear(await agent.get('/api/events', { accept: 'text/event-stream' }), 200)
  await hear(await agent.get('/api/workspaces'), 200)
  for (const path of ['/api/config', '/api/daemon', '/metrics']) await hear(await agent.get(path), 403)
  for (const [path, status] of [
    ['/files/content?path=../../../etc/passwd', 403],
    ['/files?path=none', 404],
    ['/files/content?path=work', 400],
  ] as const)
    await hear(await agent.get(`/api/workspaces/mine${path}`), status)

  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/workspaces/mine/exec`, {
    headers: { authorization: `Bearer ${agent.secret}` },
  })
  await once(socket, 'open')
  socket.on('message', (data: Buffer) => told.push(data.toString()))
  socket.send(JSON.stringify({ argv: ['sh', '-c', 'pwd; ls -la; cat none'] }))
  await once(socket, 'close')
  expect(told.at(-1)).toContain('"exit"')

  await using tools = await agent.mcp()
  told.push(JSON.stringify(await tools.client.listTools()))
  for (const [name, given] of [
    ['exec', { argv: ['pwd'] }],
    ['list_files', { path: 'work' }],
    ['read_file', { path: '../../../etc/passwd' }],
    ['diff', {}],
    ['snapshots', {}],
    ['show_workspace', {}],
  ] as const)
    told.push(JSON.stringify(await tools.call(name, given).catch(String)))

  const all = told.join('\n')
  expect(all).toContain(mine.id)
  for (const secret of [at.home, at.folder, 'the-value-of-it', agent.secret, theirs.id, 'elsewhere-7', 'root:x'])
    expect(all.split('\n').filter((line) => line.includes(secret))).toEqual([])
})

test('a token that has expired is nobody’s: no request is answered, and what was open ends', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  await daemon.aw.create({ id: 'a' })
  const opened = async (seconds: number): Promise<[Holder, Response]> => {
    const short = holder(daemon, '--scope', 'read', '--expires', `${seconds}s`)
    const open = await short.get('/api/events?follow=true', { accept: 'text/event-stream' })
    // On a busy machine it can be over before it is used: then the next one is for longer.
    return open.status === 401 && seconds < 60 ? opened(2 * seconds) : [short, open]
  }
  const [short, open] = await opened(3)
  expect(open.status).toBe(200)
  expect(await open.text()).toMatch(/event: workspace_created\n[^]*event: closing\n/)
  const late = await short.get('/api/workspaces')
  expect([late.status, await late.json()]).toMatchObject([401, { code: 'unauthorized' }])
})

test('a tool is held to the scope of its operation, as an address is', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  await daemon.aw.create({ id: 'a' })
  await using reader = await holder(daemon, '--scope', 'read').mcp()
  expect((await reader.client.listTools()).tools.map(({ name }) => name)).toContain('list_workspaces')
  expect((await reader.call('list_workspaces')).isError).toBeUndefined()
  const refused: string[] = []
  for (const [name, given] of [
    ['exec', { id: 'a', argv: ['touch', 'made'] }],
    ['write_file', { id: 'a', path: 'work/made', content: 'x' }],
    ['snapshot', { id: 'a' }],
    ['create_workspace', { id: 'b' }],
  ] as const) {
    // Not offered, and not done for those who ask all the same.
    const answer = await reader.call(name, given).then(
      ({ isError }) => `${isError}`,
      () => 'not there',
    )
    refused.push(answer)
  }
  expect(refused).toEqual(['not there', 'not there', 'not there', 'not there'])
  expect((await daemon.aw.list()).map(({ workspace_id: name }) => name)).toEqual(['a/main'])
  expect((await (await daemon.aw.get('a')).files.list('work')).entries).toEqual([])
  expect(await daemon.aw.snapshots('a', {})).toEqual([])
})

test('as it comes, a token makes five workspaces a minute', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const admin = holder(daemon, '--scope', 'admin')
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await admin.post('/api/workspaces', { id: `n${i}` })).status)
  expect(statuses).toEqual([201, 201, 201, 201, 201, 429])
  expect(await daemon.aw.list()).toHaveLength(5)
})
