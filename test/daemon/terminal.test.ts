/** A terminal in a sandbox, through the daemon's port: a WebSocket all the way. */
import { expect, test } from 'vitest'
import { connectAw } from '../../src/client/main.ts'
import { startDaemon } from './daemon.ts'

test('keys, output, a new size, Ctrl-C and the end go through', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const made = daemon.at.aw('--json', 'token', 'create', '--scope', 'admin').stdout
  const { token } = JSON.parse(made) as { token: string }
  await using aw = connectAw({ url: daemon.url, token })
  const workspace = await aw.create({ id: 'shell' })
  await using terminal = workspace.terminal({ columns: 90, rows: 30, argv: ['/bin/sh', '-i'], env: { PS1: '> ' } })
  let seen = ''
  const read = (async () => {
    for await (const part of terminal.output) seen += Buffer.from(part).toString('utf8')
  })()
  const until = async (pattern: RegExp): Promise<void> => {
    await expect.poll(() => seen, { timeout: 20_000 }).toMatch(pattern)
  }
  await until(/> $/)
  await terminal.write('stty size; tty\r')
  await until(/30 90\r\n\/dev\/pts\/\d/)
  terminal.resize(100, 40)
  await terminal.write('stty size\r')
  await until(/40 100/)
  // It says itself that it is there: what was typed is seen before anything is started.
  await terminal.write(`sh -c 'echo $((6 * 7)) asleep; exec sleep 600'\r`)
  await until(/42 asleep\r\n/)
  await terminal.write('\u0003')
  await terminal.write('exit 7\r')
  expect(await terminal.exit).toMatchObject({ code: 7 })
  await read
  expect(await aw.history('shell')).toMatchObject([{ state: 'ended', exit: { code: 7 } }])
})
