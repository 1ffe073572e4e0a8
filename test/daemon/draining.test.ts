/** The daemon is told to end while it is busy: what is under way is finished or undone, and what belongs to nobody goes on. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { toAwError } from '../../src/domain/errors.ts'
import { connectedTo, type Connected } from '../support/mcp.ts'
import { place, type Place } from '../cli/built-command.ts'
import { isAlive, startDaemon, type Served } from './daemon.ts'
import { eventsOf } from './client-record.ts'

const tokenOf = ({ at }: Served): string =>
  (JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'admin').stdout) as { token: string }).token

function agentOf(daemon: Served): Promise<Connected> {
  const requestInit = { headers: { authorization: `Bearer ${tokenOf(daemon)}` } }
  const transport = new StreamableHTTPClientTransport(new URL(`${daemon.url}/mcp`), { requestInit })
  return connectedTo(new Client({ name: 'test', version: '1' }), (one) => one.connect(transport))
}

/** Goes on until it is let: see `letGo`. */
const waiting = (then: string): string[] => ['sh', '-c', `until [ -e ../output/go ]; do sleep 0.05; done; ${then}`]
const letGo = ({ home }: Place, id: string): void => writeFileSync(join(home, `workspaces/${id}/main/output/go`), '')

/** Those that have begun and not ended. */
async function commandsIn({ aw }: Served): Promise<number> {
  const events = await eventsOf(aw.manager)
  const count = (wanted: string): number => events.filter(({ type }) => type === wanted).length
  return count('command_started') + count('run_started') - count('command_ended')
}

/** A file of which only the first half is there yet. */
function upload({ at }: Served, id: string) {
  const asked = request({
    socketPath: `${at.home}/aw.sock`,
    method: 'PUT',
    path: `/api/workspaces/${id}/files/upload?path=work/file`,
    headers: { host: 'localhost', 'content-type': 'application/octet-stream' },
  })
  const status = new Promise<number>((resolve) => {
    asked.on('response', (answer) => resolve(answer.resume().statusCode ?? 0))
    asked.on('error', () => resolve(0))
  })
  asked.write('half ')
  return { status, finish: () => asked.end('whole') }
}

async function all(items: AsyncIterable<{ type: string }>): Promise<string[]> {
  const told: string[] = []
  for await (const { type } of items) told.push(type)
  return told
}

test('what is under way is answered whole; nothing more is taken, and those who only listen are told', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const { aw, at, pid, url = '' } = daemon
  const authorization = `Bearer ${tokenOf(daemon)}`
  for (const id of ['a', 'b', 'c']) await aw.create({ id })
  await using agent = await agentOf(daemon)
  const listening = await fetch(`${url}/api/events?follow=true&from_now=true`, {
    headers: { authorization, accept: 'text/event-stream' },
  })
  const heard = listening.text()

  const slowly = waiting('echo done')
  const command = (await aw.get('a')).exec(slowly, { stdin: 'none' }).text()
  const called = agent.call('exec', { id: 'b', argv: slowly })
  const followed = all(aw.run({ id: 'c', argv: slowly }))
  const file = upload(daemon, 'a')
  await expect.poll(() => commandsIn(daemon), { timeout: 20_000 }).toBe(3)
  const asking = connect({ path: `${at.home}/aw.sock` })
  asking.write('GET /api/ready HTTP/1.1\r\nHost: localhost\r\n')
  // Whoever comes later has been answered: so the first half of this was heard.
  expect(at.aw('serve', '--status').code).toBe(0)

  process.kill(pid, 'SIGTERM')
  expect(await heard).toMatch(/event: closing\n/)
  asking.write('\r\n')
  expect(String((await once(asking, 'data'))[0])).toMatch(/^HTTP\/1.1 503 /)
  await expect(fetch(`${url}/api/health`)).rejects.toThrow('fetch failed')
  for (const id of ['a', 'b', 'c']) letGo(at, id)
  file.finish()
  expect(await file.status).toBe(200)
  expect(await command).toMatchObject({ stdout: 'done\n', exit: { code: 0 } })
  expect(await called).toMatchObject({ structuredContent: { stdout: 'done\n' } })
  expect((await followed).at(-1)).toBe('ended')
  await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
  expect(at.aw('fs', 'read', 'a', 'work/file').stdout).toBe('half whole')
})

test('what takes longer is cancelled and undone; a run is left to itself, and is there when the daemon is back', async () => {
  using at = place()
  await using first = startDaemon({ at, listen: '127.0.0.1:0', set: ['server.drain_ms=400'] })
  for (const id of ['a', 'b', 'c']) await first.aw.create({ id })
  await using agent = await agentOf(first)
  const command = (await first.aw.get('a')).exec(['sleep', '600'], { stdin: 'none' }).text().catch(toAwError)
  const followed = all(first.aw.run({ id: 'b', argv: waiting('echo done > left') }))
  const leftAlone = followed.then(String, toAwError)
  const called = agent.call('run', { id: 'c', argv: waiting('echo done > left') }).catch(String)
  const file = upload(first, 'a')
  await expect.poll(() => commandsIn(first), { timeout: 20_000 }).toBe(3)
  process.kill(first.pid, 'SIGTERM')
  expect(await command).toMatchObject({ code: 'aborted', message: 'The daemon ends' })
  expect(await leftAlone).toMatchObject({ code: 'aborted', message: 'The daemon ends' })
  expect(await file.status).not.toBe(200)
  await expect.poll(() => isAlive(first.pid), { timeout: 20_000 }).toBe(false)
  await first.aw[Symbol.asyncDispose]()
  await agent.client.close()
  await called
  for (const id of ['b', 'c']) letGo(at, id)

  await using second = startDaemon({ at })
  expect((await second.aw.history('a')).at(-1)).toMatchObject({
    state: 'failed',
    problem: { code: 'aborted', message: 'The daemon ends' },
  })
  expect((await (await second.aw.get('a')).files.list('work')).entries).toEqual([])
  for (const id of ['b', 'c']) {
    await expect.poll(async () => (await second.aw.runs(id, {})).at(-1)?.state, { timeout: 30_000 }).toBe('completed')
    expect(await (await second.aw.get(id)).files.readText('work/left')).toBe('done\n')
  }
  await second.end()
})
