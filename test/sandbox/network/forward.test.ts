/** Ports of real sandboxes, brought out. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { openGround } from '../../sources/fixture.ts'

/** Sends much and then waits for ever, whatever the other side does. */
const stubborn = `
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 3000)); s.listen()
print("listening", flush=True)
while True:
    c, _ = s.accept()
    try: c.sendall(b"x" * 4000000); time.sleep(600)
    except OSError: pass
`

it('ends when it is told to, also with a client that does not read and a server that does not stop', async () => {
  const { aw } = await openGround()
  const workspace = await aw.ensure('one')
  await workspace.start()
  const serving = workspace.exec(['python3', '-c', stubborn])
  for await (const { data } of serving.output) if (Buffer.from(data).includes('listening')) break
  for (const event of ['data', 'connect']) {
    const forward = await workspace.forward(3000, { localPort: 0 })
    const socket = connect(forward.port, '127.0.0.1').on('error', () => undefined)
    await once(socket, event)
    await forward[Symbol.asyncDispose]()
    socket.destroy()
    const [error] = (await once(connect(forward.port, '127.0.0.1'), 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNREFUSED')
  }
  await workspace.stop({ grace_ms: 0 })
})
