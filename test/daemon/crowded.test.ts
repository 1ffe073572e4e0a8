/** A daemon at a port: other users fill it with connections, callers with bodies. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { tcpPeers } from '../../src/sys/processes/tcp-peers.ts'
import { startDaemon, type Served } from './daemon.ts'

const tokenOf = ({ at }: Served): string =>
  (JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'admin').stdout) as { token: string }).token

/** Another user if we are root, who could not be told from us otherwise. */
const asAnother = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []

/** Holds as many idle connections as it can, and opens another for each that is closed. */
const occupant = `
  const { connect } = require('node:net')
  const [port, count] = process.argv.slice(1).map(Number)
  let opened = 0
  const one = () => {
    const socket = connect(port, '127.0.0.1', () => { if (++opened === count) console.log('full') })
    socket.on('error', () => undefined)
    socket.on('close', () => setTimeout(one, 50))
  }
  for (let i = 0; i < count; i++) one()
`

function occupying(port: string, count: number): ChildProcess & { stdout: NonNullable<ChildProcess['stdout']> } {
  const program = [...asAnother, process.execPath, '-e', occupant, port, String(count)]
  return spawn(program[0] ?? '', program.slice(1), { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] })
}

test('idle connections of another user keep no token holder out', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0', set: ['rate_limit.default_per_minute=0'] })
  const { url = '' } = daemon
  const headers = { authorization: `Bearer ${tokenOf(daemon)}`, connection: 'close' }
  const child = occupying(new URL(url).port, 600)
  try {
    await once(child.stdout, 'data')
    for (let i = 0; i < 50; i++) expect((await fetch(`${url}/api/workspaces`, { headers })).status).toBe(200)
  } finally {
    child.kill('SIGKILL')
  }
})

test('the kernel tells whose connection it is', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = once(server, 'connection')
  const child = occupying(String(port), 1)
  try {
    const [theirs] = (await accepted) as [Parameters<ReturnType<typeof tcpPeers>>[0]]
    for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
      const next = once(server, 'connection')
      const own = connect(port, host)
      const [ours] = (await next) as [Parameters<ReturnType<typeof tcpPeers>>[0]]
      expect(tcpPeers()(ours)).toBe(process.getuid?.())
      for (const socket of [own, ours]) socket.destroy()
    }
    expect(tcpPeers()(theirs)).toBe(asAnother.length > 0 ? 65534 : process.getuid?.())
    theirs.destroy()
  } finally {
    child.kill('SIGKILL')
    server.close()
  }
})

const mib = 2 ** 20
const [bodies, bodyMib, heldMib] = [18, 24, 48]

test(`${bodies} bodies of ${bodyMib} MiB at once are all written, and never held at once`, async () => {
  const set = [`server.memory_mb=${heldMib}`, 'rate_limit.default_per_minute=0', 'server.max_in_flight=0']
  await using daemon = startDaemon({ listen: '127.0.0.1:0', set })
  await daemon.aw.create({ id: 'a' })
  const headers = { authorization: `Bearer ${tokenOf(daemon)}`, 'content-type': 'application/octet-stream' }
  const content = Buffer.alloc(bodyMib * mib, 'x')
  const before = peakOf(daemon.pid)
  let refused = 0
  const write = async (to: string): Promise<void> => {
    for (;;) {
      const answer = await fetch(`${daemon.url}/api/workspaces/a/files/${to}`, {
        method: 'PUT',
        headers,
        body: content,
      })
      const text = await answer.text()
      if (answer.status === 200) return void expect(JSON.parse(text)).toMatchObject({ size: content.length })
      expect([answer.status, answer.headers.get('retry-after'), text]).toEqual([503, '1', expect.any(String)])
      refused++
      await sleep(100)
    }
  }
  const to = (kind: string, i: number): Promise<void> => write(`${kind}?path=work/${kind}-${i}`)
  await Promise.all(Array.from({ length: bodies }, (_, i) => to(i % 3 === 0 ? 'upload' : 'content', i)))
  expect(refused).toBeGreaterThan(0)
  // A body is in memory twice for a moment, and what was freed is not collected at once.
  expect((peakOf(daemon.pid) - before) / mib).toBeLessThan(5 * heldMib)
})

/** The most memory that a process had, in bytes. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
