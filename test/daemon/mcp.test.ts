/** MCP at the daemon: what is counted, and what ends with a token. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { connectedTo, errorCode, type Connected } from '../support/mcp.ts'
import { startDaemon, type Served } from './daemon.ts'

interface Holder extends AsyncDisposable {
  readonly id: string
  readonly mcp: Connected
}

async function holder({ at, url }: Served, ...flags: readonly string[]): Promise<Holder> {
  const made = at.aw('--json', 'token', 'create', ...flags)
  const { id, token } = JSON.parse(made.stdout) as { id: string; token: string }
  // A client may send the same id with all that it asks for.
  const requestInit = { headers: { authorization: `Bearer ${token}`, 'x-request-id': 'always-the-same' } }
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit })
  const mcp = await connectedTo(new Client({ name: 'test', version: '1' }), (client) => client.connect(transport))
  return { id, mcp, [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose]() }
}

test('a command counts as a command, through whichever door', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0', set: ['rate_limit.exec_per_minute=2'] })
  await daemon.aw.create({ id: 'a' })
  await using own = await holder(daemon, '--scope', 'exec', '--scope', 'read')
  const run = () => own.mcp.call('exec', { id: 'a', argv: ['true'] })
  expect([(await run()).isError, (await run()).isError]).toEqual([undefined, undefined])
  expect(errorCode(await run())).toBe('rate_limited')
  // What has another limit goes on.
  expect((await own.mcp.call('list_workspaces')).isError).toBeUndefined()
  await using other = await holder(daemon, '--scope', 'exec', '--scope', 'read')
  expect((await other.mcp.call('exec', { id: 'a', argv: ['true'] })).isError).toBeUndefined()
})

test('what a token does ends when it is revoked', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  await daemon.aw.create({ id: 'a' })
  await using own = await holder(daemon, '--workspace', 'a')
  const call = own.mcp.call('exec', { argv: ['sleep', '600'] })
  const over = call.then(
    () => 'answered',
    () => 'broken off',
  )
  await expect.poll(async () => (await daemon.aw.get('a')).commands, { timeout: 20_000 }).toBe(1)
  await daemon.aw.token.revoke(own.id)
  await expect.poll(async () => (await daemon.aw.get('a')).commands, { timeout: 20_000 }).toBe(0)
  await expect(own.mcp.call('exec', { argv: ['true'] })).rejects.toThrow('The token is not valid')
  // The client would wait for an answer for a minute.
  await own.mcp.client.close()
  expect(await over).toBe('broken off')
})
