import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { AwError, toAwError } from '../../src/domain/errors.ts'
import { mcpHttp, type McpCaller } from '../../src/mcp/http/http.ts'
import { memoryCore } from '../memory/core.ts'
import { initialize, toolCall } from './stdio.ts'

/** What one request may hold, and whose a session is when the rights of its caller have changed. */

async function scene(callerOf: () => Partial<McpCaller> = () => ({})) {
  const { manager } = memoryCore()
  const mcp = mcpHttp({ version: '1.2.3' })
  const server = createServer((req, res) => {
    mcp.handle(req, res, { id: 'one', manager, ...callerOf() }).catch((error: unknown) => {
      res.writeHead(toAwError(error).status).end(String(error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await mcp[Symbol.asyncDispose]()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await manager[Symbol.asyncDispose]()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const post = async (body: unknown, session?: string) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers, ...(session !== undefined && { 'mcp-session-id': session }) },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    })
    return { status: answer.status, text: await answer.text(), session: answer.headers.get('mcp-session-id') ?? '' }
  }
  return { post, open: async () => (await post(initialize('2025-03-26'))).session }
}

const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' })
const lists = (count: number) => Array.from({ length: count }, (_, i) => list(i))

test.each([
  ['a key twice', '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}'],
  ['__proto__', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"__proto__":{}}}'],
  ['too deep', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(40)}${']'.repeat(40)}}`],
  ['far too many values', `[${'{},'.repeat(1_000_000)}{}]`],
  ['bytes that are not UTF-8', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\u00ff"}', 'latin1')],
])('JSON with %s is refused here as everywhere', async (_, body) => {
  const { post, open } = await scene()
  for (const session of [undefined, await open()]) {
    const { status, text } = await post(body, session)
    expect(status).toBe(400)
    expect(JSON.parse(text)).toMatchObject({ error: { code: -32700 } })
  }
})

test.each(['null', '1', '"a"', '[]', '[null]', '[[]]', '[1,{}]', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":{}}'])(
  '%s is no message, in a session or without one',
  async (body) => {
    const { post, open } = await scene()
    for (const session of [undefined, await open()]) {
      const { status } = await post(body, session)
      expect(status).toBe(400)
    }
  },
)

test('several messages in one request are so many requests, and only so many', async () => {
  let left = 20
  const countOne = (): void => {
    if (--left < 0) throw new AwError('rate_limited', 'That is too much')
  }
  const { post, open } = await scene(() => ({ countOne }))
  const session = await open()
  expect(left).toBe(20)
  const { status, text } = await post(lists(11), session)
  expect({ status, answers: text.match(/"tools":/g)?.length }).toEqual({ status: 200, answers: 11 })
  expect(left).toBe(10)
  expect((await post(lists(16), session)).status).toBe(429)
  left = 100
  expect((await post(lists(17), session)).status).toBe(400)
  expect(left).toBe(100)
})

test('a session does not outlive the rights that it was opened with', async () => {
  let rights = 'of three workspaces'
  const { post, open } = await scene(() => ({ rights }))
  const session = await open()
  expect((await post(list(1), session)).status).toBe(200)
  rights = 'of two workspaces'
  expect((await post(toolCall(2, 'list_workspaces', {}), session)).status).toBe(404)
  expect((await post(list(3), await open())).status).toBe(200)
})
