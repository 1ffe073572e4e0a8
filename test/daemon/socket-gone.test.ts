import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../http/ask.ts'
import { isAlive, startDaemon } from './daemon.ts'

test('a daemon whose socket is taken away, or replaced, is found again', async () => {
  await using daemon = startDaemon()
  const { at, pid } = daemon
  const socket = join(at.home, 'aw.sock')
  // Else it could have put it back before anybody has looked.
  process.kill(pid, 'SIGSTOP')
  rmSync(socket)
  expect(at.aw('serve', '--status').code).toBe(3)
  process.kill(pid, 'SIGCONT')
  await until(() => at.aw('serve', '--status').code === 0)
  expect(statSync(socket).mode & 0o777).toBe(0o600)
  rmSync(socket)
  writeFileSync(socket, 'not a socket')
  await until(() => statSync(socket, { throwIfNoEntry: false })?.isSocket() === true)
  await until(() => at.aw('serve', '--status').code === 0)
  expect(JSON.parse(at.aw('--json', 'serve', '--status').stdout)).toMatchObject({ running: true, pid })
  expect(at.aw('serve', '--stop').code).toBe(0)
  await until(() => !isAlive(pid))
  expect(existsSync(socket)).toBe(false)
})
