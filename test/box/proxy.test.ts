/** The way out of a box: a socket inside it that a program outside accepts on. */
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bwrap, launchBox, processesWith, run, startBox, testFolder, until } from './harness.ts'
import type { Tags } from './raw.ts'

const port = 3128

/** Answers each connection with its own descriptors and environment, and writes a line to its log. */
const program = `
import { readdirSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
const given = readdirSync('/proc/self/fd').filter((fd) => ['0', '1', '2', '3', '4'].includes(fd)).join(',')
createServer((socket) => {
  writeSync(4, 'a connection\\n')
  socket.end(process.pid + ' ' + given + ' ' + Object.keys(process.env).join(',') + '\\n')
}).listen({ fd: 3 })
`

function proxy(): { readonly spec: Tags; readonly descriptors: number[]; readonly file: string; readonly log: string } {
  const folder = testFolder()
  const [file, log] = [join(folder, 'proxy.mjs'), join(folder, 'log')]
  writeFileSync(file, program)
  const spec: Tags = [
    ['P', port],
    ['x', 4],
    ['X', process.execPath],
    ['X', file],
  ]
  return { spec, descriptors: [openSync(log, 'a')], file, log }
}

const ask = [
  'python3',
  '-c',
  `import socket; print(socket.create_connection(('127.0.0.1', ${port})).recv(100).decode())`,
]

describe('a proxy', () => {
  test('is started by the first connection, with its socket and its log and nothing else', async () => {
    const { spec, descriptors, file, log } = proxy()
    const { client } = await startBox({ level: 'namespace', spec, descriptors, env: { FROM: 'the supervisor' } })
    await run(client, ['true'])
    expect(processesWith(file)).toEqual([])
    const { stdout } = await run(client, ask)
    expect(stdout).toMatch(/^\d+ 0,1,2,3,4 FROM\n/)
    expect(processesWith(file)).toEqual([Number(stdout.split(' ')[0])])
    await run(client, ask)
    expect(processesWith(file)).toHaveLength(1)
    expect(readFileSync(log, 'utf8')).toBe('a connection\n'.repeat(2))
  })

  test('is started again if it has ended', async () => {
    const { spec, descriptors, file } = proxy()
    const { client } = await startBox({ level: 'namespace', spec, descriptors })
    const first = (await run(client, ask)).stdout.split(' ')[0]
    for (const pid of processesWith(file)) process.kill(pid, 'SIGKILL')
    await until(() => processesWith(file).length === 0, 'it is gone')
    const second = (await run(client, ask)).stdout.split(' ')[0]
    expect(second).toMatch(/^\d+$/)
    expect(second).not.toBe(first)
  })

  test('that ends at once is not started without end', async () => {
    const { spec, descriptors, log } = proxy()
    const bad = spec.filter(([tag]) => tag !== 'X')
    const script = ['/bin/sh', '-c', 'echo tried >&4; exit 1'].map((it) => ['X', it] as const)
    const { client } = await startBox({ level: 'namespace', spec: [...bad, ...script], descriptors })
    await run(client, ask, [['t', 1500]])
    expect(readFileSync(log, 'utf8').split('tried').length - 1).toBeLessThan(4)
  })

  test('listens inside the box and nowhere else', async () => {
    const { spec, descriptors } = proxy()
    const { client } = await startBox({ level: 'namespace', spec, descriptors })
    expect((await run(client, ['cat', '/proc/net/tcp'])).stdout).toContain(`0100007F:0C38 00000000:0000 0A`)
    await expect(reach(port)).rejects.toThrow(/ECONNREFUSED/)
  })

  test('ends with its box, also when the supervisor is killed', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const { spec, descriptors, file } = proxy()
      const box = await startBox({ level: 'namespace', spec, descriptors })
      await run(box.client, ask)
      expect(processesWith(file)).toHaveLength(1)
      box.supervisor.kill(signal)
      await box.ended
      await until(() => processesWith(file).length === 0, 'it is gone')
    }
  })

  const liar = (what: string): Tags => {
    const script = `
import array, os, socket, time
s = socket.socket(fileno=3)
s.recv(1000)
ready = b'\\x08\\0\\0\\0\\x40\\0\\0\\0\\0V1\\0'
give = lambda fd: s.sendmsg([ready], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))])
${what}
time.sleep(1000)`
    return bwrap([], ['/usr/bin/python3', '-c', script]).map((it) => ['A', it] as const)
  }

  test.each([
    ['no socket', `s.send(ready)`],
    ['a file', `give(os.open('/usr/bin/env', os.O_RDONLY))`],
    ['a socket of another kind', `u = socket.socket(socket.AF_UNIX); u.bind('/tmp/x'); u.listen(1); give(u.fileno())`],
    ['a socket that does not listen', `t = socket.socket(); t.bind(('127.0.0.1', 3128)); give(t.fileno())`],
    ['another port', `t = socket.socket(); t.bind(('127.0.0.1', 3129)); t.listen(1); give(t.fileno())`],
    ['every address', `t = socket.socket(); t.bind(('0.0.0.0', 3128)); t.listen(1); give(t.fileno())`],
  ])('is not given %s by an init that lies', async (_, lie) => {
    const { spec, descriptors } = proxy()
    const box = await launchBox({ level: 'namespace', spec: [...spec, ...liar(lie)], descriptors })
    expect([box.answer, box.log()]).toEqual(['error 71 the program that makes the walls has ended', ''])
    expect(await box.ended).toBe(1)
  })

  test('is given what was asked for, whoever made it', async () => {
    const { spec, descriptors } = proxy()
    const honest = liar(`t = socket.socket(); t.bind(('127.0.0.1', 3128)); t.listen(1); give(t.fileno())`)
    expect((await launchBox({ level: 'namespace', spec: [...spec, ...honest], descriptors })).answer).toMatch(/^ready /)
  })
})

const reach = (at: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(at, '127.0.0.1')
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
  })
