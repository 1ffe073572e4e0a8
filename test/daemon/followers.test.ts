/** A thousand readers of events, readers that do not read, and connections that nobody ends. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Manager } from '../../src/ports/manager.ts'
import { killableHome, until } from './killable.ts'
import { eventsOf } from './client-record.ts'

const readers = 1000
const slowReaders = 20
/** As the home of these tests says. */
const slowMs = 700

test(`${readers} readers get each event once and in order; those that do not read are dropped and told so`, async () => {
  await using home = killableHome()
  const daemon = await home.serve()
  const manager = home.client()
  const { id } = await manager.call('create', { id: 'told/of' })
  const base = daemon.descriptors()
  await fill(manager, id)
  const filled = (await eventsOf(manager)).length
  const fast: Reader[] = []
  // No more at once than may wait to be let in.
  while (fast.length < readers)
    fast.push(...(await Promise.all(Array.from({ length: 100 }, () => follow(daemon.socket, filled)))))
  const slow = await Promise.all(Array.from({ length: slowReaders }, () => follow(daemon.socket, 0, 'slow')))
  const lateReaders = slow.slice(0, 5)
  // They have been slow for long, and the daemon has had its turn since.
  const comingBack = sleep(2 * slowMs)
    .then(() => manager.call('show', { id }))
    .then(() => lateReaders.map(({ socket }) => socket.resume()))
  const begin = performance.now()
  for (let i = 0; i < 20; i++) await manager.call('label', { id, labels: { round: `${i}` } })
  const labelled = performance.now() - begin
  const events = await eventsOf(manager)
  const expected = events.slice(filled).map(({ position }) => position)
  expect(expected).toHaveLength(20)
  await until('all have read all', () => fast.every(({ seen }) => seen.length >= expected.length))
  console.log(
    `20 events to ${readers} readers in ${(performance.now() - begin).toFixed(0)} ms, written in ${labelled.toFixed(0)} ms; ` +
      `memory ${daemon.memory().toFixed(0)} MB`,
  )
  for (const { seen, socket } of fast) {
    expect(seen).toEqual(expected)
    expect(socket.destroyed).toBe(false)
  }
  // Whoever comes back finds what was on the way, and why there is no more; whoever never does is let go of too.
  await comingBack
  for (const one of lateReaders) {
    await until('it is told', () => one.tail().includes('event: dropped'))
    expect(one.tail()).toMatch(/event: dropped\ndata: \{"reason":"too slow","after":\d+\}\n\n/)
    expect(one.seen).toEqual(events.slice(0, one.seen.length).map(({ position }) => position))
    expect(one.seen.length).toBeLessThan(filled)
  }
  for (const { socket } of lateReaders) socket.destroy()
  await until('the daemon has let go of the slow ones', () => daemon.descriptors() <= base + readers + 2)
  for (const { socket } of [...slow, ...fast]) socket.destroy()
  await until('all descriptors are closed', () => Math.abs(daemon.descriptors() - base) <= 2)
})

test('connections that are left half open and uploads that are broken off leave nothing behind, under load', async () => {
  await using home = killableHome()
  const daemon = await home.serve()
  const manager = home.client()
  const { id, path } = await manager.call('create', { id: 'uploads' })
  await manager.call('fs write', { id, path: 'work/file', content: Buffer.from('whole') })
  const base = daemon.descriptors()
  const over = new AbortController()
  const answers: string[] = []
  const working = (async () => {
    for (let i = 0; !over.signal.aborted; i++)
      answers.push((await manager.call('label', { id, labels: { round: `${i}` } })).labels['round'] ?? '')
  })()
  const begun: Socket[] = []
  for (let i = 0; i < 150; i++) {
    begun.push(await opened(daemon.socket, 'GET /api/workspaces HTTP/1.1\r\nHost: loc'))
    const put = `PUT /api/workspaces/${id}/files/${i % 2 === 0 ? 'content' : 'upload'}?path=work/file HTTP/1.1`
    const head = `${put}\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: 10000000\r\n\r\n`
    const upload = await opened(daemon.socket, head, Buffer.alloc(200_000))
    if (i % 3 === 0) begun.push(upload)
    else upload.destroy()
  }
  await until('others are answered meanwhile', () => answers.length > 10)
  // Those that stay open are closed by the daemon.
  await until('all connections are closed', () => begun.every((socket) => socket.destroyed))
  await until('all descriptors are closed', () => Math.abs(daemon.descriptors() - base) <= 2)
  over.abort()
  await working
  expect(answers).toEqual(answers.map((_, i) => `${i}`))
  const read = await manager.call('fs read', { id, path: 'work/file' })
  expect(Buffer.from(read).toString()).toBe('whole')
  expect(readdirSync(join(path, 'work'))).toEqual(['file'])
  for (const operation of ['fs upload', 'fs write'])
    await until(`${operation} was broken off`, () =>
      daemon
        .log()
        .split('\n')
        .some((line) => line.includes(`"operation":"${operation}"`) && line.includes('"whole":false')),
    )
})

test('a daemon that ends waits for no reader that does not read', async () => {
  await using home = killableHome(['server.drain_ms=500'])
  const daemon = await home.serve()
  const manager = home.client()
  const { id } = await manager.call('create', { id: 'told/of' })
  await fill(manager, id)
  const ask = 'GET /api/events?follow=true HTTP/1.1\r\nHost: localhost\r\n'
  const lines = await opened(daemon.socket, `${ask}\r\n`)
  lines.pause()
  const events = await follow(daemon.socket, 0, 'slow')
  await until('both are followed', () => daemon.descriptors() > 20)
  process.kill(daemon.pid, 'SIGTERM')
  await until('it has ended', () => daemon.isGone(), 15_000)
  expect(daemon.log()).toContain('"ended":true')
  for (const socket of [lines, events.socket]) socket.destroy()
})

async function opened(path: string, ...parts: readonly (string | Uint8Array)[]): Promise<Socket> {
  const socket = connect({ path })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  for (const part of parts) socket.write(part)
  socket.resume()
  return socket
}

/** More than fits into the buffers of a connection. */
async function fill(manager: Manager, id: string): Promise<void> {
  const text = 'x'.repeat(200)
  const labels = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`label-${i}`, text]))
  for (let i = 0; i < 200; i++) await manager.call('label', { id, labels: { ...labels, round: `fill-${i}` } })
}

interface Reader {
  readonly socket: Socket
  /** Positions, as the ids say them. */
  readonly seen: number[]
  /** The last that came. */
  readonly tail: () => string
}

/** Resolves when the daemon has answered; one that is slow reads no more as soon as the first events have come. */
async function follow(path: string, after: number, pace: 'fast' | 'slow' = 'fast'): Promise<Reader> {
  const socket = await opened(
    path,
    `GET /api/events?follow=true&after=${after} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`,
  )
  const seen: number[] = []
  let tail = ''
  let rest = ''
  socket.setEncoding('latin1')
  const answered = Promise.withResolvers<void>()
  socket.on('data', (chunk: string) => {
    tail = (tail + chunk).slice(-500)
    rest += chunk
    if (pace === 'fast' && rest.includes(': connected')) answered.resolve()
    const isFirst = seen.length === 0
    const last = rest.lastIndexOf('\n')
    for (const [, position] of rest.slice(0, last + 1).matchAll(/^id: (\d+)\n/gm)) seen.push(Number(position))
    rest = rest.slice(last + 1)
    if (pace === 'fast' || !isFirst || seen.length === 0) return
    socket.pause()
    answered.resolve()
  })
  socket.on('close', () => answered.reject(new Error(`The daemon closed the connection: ${tail}`)))
  await answered.promise
  return { socket, seen, tail: () => tail }
}
