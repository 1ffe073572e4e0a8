/** Many who begin a request and never finish it, one byte at a time. */
import { once } from 'node:events'
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
    while (sockets.length < many) {
      // No more at once than may wait to be let in.
      const next = Array.from({ length: 100 }, () => connect({ path: daemon.socket }))
      for (const socket of next) {
        socket.on('error', () => undefined)
        socket.on('close', () => closed++)
        socket.write('GET /api/workspaces HTTP/1.1\r\nHost: localhost\r\nX-Filler: ')
      }
      await Promise.all(next.map((socket) => once(socket, 'connect')))
      sockets.push(...next)
    }
    // On a slow machine the first are sent away before the last are let in.
    await until('all have been let in', () => daemon.descriptors() + closed >= before + many)
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
