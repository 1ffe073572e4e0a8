/** Many who begin a request and never finish it, one byte at a time. */
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { killableHome, until } from './killable.ts'

const many = 1000

test(`${many} that send their head drop by drop keep nobody waiting, and are sent away`, async () => {
  await using home = killableHome()
  const daemon = await home.serve()
  const manager = home.client()
  const { id } = await manager.call('create', { id: 'a' })
  const before = daemon.descriptors()
  let closed = 0
  const sockets: Socket[] = []
  const drops = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x')
  }, 100)
  try {
    for (let i = 0; i < many; i++) {
      const socket = connect({ path: daemon.socket })
      socket.on('error', () => undefined)
      socket.on('close', () => closed++)
      socket.write('GET /api/workspaces HTTP/1.1\r\nHost: localhost\r\nX-Filler: ')
      sockets.push(socket)
    }
    await until('all are connected', () => daemon.descriptors() >= before + many || closed > 0)
    expect(daemon.descriptors() + closed).toBeGreaterThanOrEqual(before + many)
    // They are there, and others are served.
    for (let i = 0; i < 20; i++) expect((await manager.call('show', { id })).state).toBe('ready')
    expect((await manager.call('create', { id: 'b' })).state).toBe('ready')
    await until('they are sent away', () => closed === many)
    await until('nothing of them is left', () => daemon.descriptors() <= before + 5)
  } finally {
    clearInterval(drops)
    for (const socket of sockets) socket.destroy()
  }
  expect(await manager.call('list', {})).toHaveLength(2)
})
