import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { closeServer, listenOn } from './listen.ts'

test('connections that could not be taken, however many, are no end of the daemon', async () => {
  const server = createServer((_, response) => void response.end('here'))
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 })
  for (let i = 0; i < 3; i++) server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
  expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('here')
  await closeServer(server)
})
