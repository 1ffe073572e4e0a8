import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { daemonAt, requestStop } from './daemon-at.ts'

test('a daemon that refuses is not taken for one that tells of itself, and none is none', async () => {
  const socket = join(tmpdir(), `aw-daemon-at-${process.pid}.sock`)
  const problem = { code: 'permission_denied', detail: 'Not for you', hint: null, data: {} }
  const server = createServer((_, response) => response.writeHead(403).end(JSON.stringify(problem)))
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  try {
    for (const ask of [daemonAt, requestStop])
      await expect(ask(socket)).rejects.toMatchObject({ code: 'permission_denied', message: 'Not for you' })
  } finally {
    await new Promise((resolve) => server.close(resolve))
    rmSync(socket, { force: true })
  }
  expect([await daemonAt(socket), await requestStop(socket)]).toEqual([undefined, false])
})
