/** The way out of a box: a socket inside it that a program outside accepts on. */
import { existsSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bwrap, launchBox, processesWith, procFile, run, startBox, testFolder, until } from './harness.ts'
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

function proxy(text = program): { readonly spec: Tags; readonly file: string; readonly log: string } {
  const folder = testFolder()
  const [file, log] = [join(folder, 'proxy.mjs'), join(folder, 'log')]
  writeFileSync(file, text)
  const spec: Tags = [
    ['P', port],
    ['x', log],
    ['X', process.execPath],
    ['X', file],
  ]
  return { spec, file, log }
}

const ask = [
  'python3',
  '-c',
  `import socket; print(socket.create_connection(('127.0.0.1', ${port})).recv(100).decode())`,
]

describe('a proxy', () => {
  test('is started by the first connection, with its socket and its log and nothing else', async () => {
    const { spec, file, log } = proxy()
    const { client } = await startBox({ level: 'namespace', spec, env: { FROM: 'the supervisor' } })
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
    const { spec, file } = proxy()
    const { client } = await startBox({ level: 'namespace', spec })
    const first = (await run(client, ask)).stdout.split(' ')[0]
    for (const pid of processesWith(file)) process.kill(pid, 'SIGKILL')
    await until(() => processesWith(file).length === 0, 'it is gone')
    const second = (await run(client, ask)).stdout.split(' ')[0]
    expect(second).toMatch(/^\d+$/)
    expect(second).not.toBe(first)
  })

  test('that ends at once is not started without end', async () => {
    const { spec, log } = proxy()
    const bad = spec.filter(([tag]) => tag !== 'X')
    const script = ['/bin/sh', '-c', 'echo tried >&4; exit 1'].map((it) => ['X', it] as const)
    const { client } = await startBox({ level: 'namespace', spec: [...bad, ...script] })
    const began = performance.now()
    await run(client, ask, [['t', 1500]])
    const tried = readFileSync(log, 'utf8').split('tried').length - 1
    // At once, and then once a second, however long we took.
    expect(tried).toBeLessThanOrEqual(2 + Math.floor((performance.now() - began) / 1000))
  })

  test('listens inside the box and nowhere else', async () => {
    const { spec } = proxy()
    const { client } = await startBox({ level: 'namespace', spec })
    expect((await run(client, ['cat', '/proc/net/tcp'])).stdout).toContain(`0100007F:0C38 00000000:0000 0A`)
    await expect(reach(port)).rejects.toThrow(/ECONNREFUSED/)
  })

  test('ends with its box, also when the supervisor is killed', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const { spec, file } = proxy()
      const box = await startBox({ level: 'namespace', spec })
      await run(box.client, ask)
      expect(processesWith(file)).toHaveLength(1)
      box.supervisor.kill(signal)
      await box.ended
      await until(() => processesWith(file).length === 0, 'it is gone')
    }
  })

  const last = (what: string): string => `${program}\nprocess.on('SIGTERM', () => { ${what} })\n`

  test('writes what it has to write when its box ends, and no longer than a moment', async () => {
    for (const [what, written] of [
      [`writeSync(4, 'the last line\\n'); process.exit()`, 'a connection\nthe last line\n'],
      [`writeSync(4, 'it goes on\\n')`, 'a connection\nit goes on\n'],
    ] as const) {
      const { spec, file, log } = proxy(last(what))
      const box = await startBox({ level: 'namespace', spec })
      await run(box.client, ask)
      box.supervisor.kill('SIGTERM')
      await box.ended
      expect(processesWith(file)).toEqual([])
      expect(readFileSync(log, 'utf8')).toBe(written)
    }
  })

  test('sees the end of the supervisor, whoever it has become', async () => {
    const becomes = `process.setgroups([]); process.setgid(65534); process.setuid(65534); process.stdin.resume().on('end', () => { writeSync(4, 'the end\\n'); process.exit() })`
    const { spec, file, log } = proxy(`${program}\n${becomes}\n`)
    const box = await startBox({ level: 'namespace', spec })
    await run(box.client, ask)
    box.supervisor.kill('SIGKILL')
    await until(() => processesWith(file).length === 0, 'it is gone')
    expect(readFileSync(log, 'utf8')).toBe('a connection\nthe end\n')
  })

  test('cannot become more than it is', async () => {
    const { spec, file } = proxy()
    const { client } = await startBox({ level: 'namespace', spec })
    await run(client, ask)
    expect(processesWith(file).map((pid) => /^NoNewPrivs:\s+(\d)/m.exec(procFile(pid, 'status'))?.[1])).toEqual(['1'])
  })

  const large = 33 * 2 ** 20

  test('has a fresh log when the last one has grown: with its box, and with each start', async () => {
    const { spec, file, log } = proxy()
    writeFileSync(log, 'the first\n')
    truncateSync(log, large)
    const { client } = await startBox({ level: 'namespace', spec })
    expect([statSync(log).size, statSync(`${log}.1`).size, statSync(log).mode & 0o777]).toEqual([0, large, 0o600])
    await run(client, ask)
    truncateSync(log, large)
    await run(client, ask)
    expect(statSync(log).size).toBeGreaterThan(large)
    for (const pid of processesWith(file)) process.kill(pid, 'SIGKILL')
    await until(() => processesWith(file).length === 0, 'it is gone')
    await run(client, ask)
    expect(readFileSync(log, 'utf8')).toBe('a connection\n')
    expect(readFileSync(`${log}.1`, 'latin1').startsWith('a connection\n')).toBe(true)
  })

  test('goes on in a log that another box has put aside, and then with the fresh one', async () => {
    const { spec, file, log } = proxy()
    const one = await startBox({ level: 'namespace', spec })
    await run(one.client, ask)
    truncateSync(log, large)
    const other = await startBox({ level: 'namespace', spec })
    expect(statSync(log).size).toBe(0)
    await run(one.client, ask)
    await run(other.client, ask)
    expect(statSync(`${log}.1`).size).toBe(large + 'a connection\n'.length)
    for (const pid of processesWith(file)) process.kill(pid, 'SIGKILL')
    await until(() => processesWith(file).length === 0, 'both are gone')
    await run(one.client, ask)
    expect(readFileSync(log, 'utf8')).toBe('a connection\n'.repeat(2))
    expect(statSync(`${log}.1`).size).toBe(large + 'a connection\n'.length)
  })

  test('is not left without a log: nothing starts without, and it never follows a link', async () => {
    const { spec, log } = proxy()
    const missing = spec.map(([tag, value]) => [tag, tag === 'x' ? `${log}/none` : value] as const)
    writeFileSync(log, '')
    const { ENOTDIR, ELOOP } = constants.errno
    const answer = async (what: Tags) => (await launchBox({ level: 'namespace', spec: what })).answer
    expect(await answer(missing)).toBe(`error ${ENOTDIR} opening the log of the proxy`)
    const linked = spec.map(([tag, value]) => [tag, tag === 'x' ? `${log}.link` : value] as const)
    symlinkSync(`${log}.target`, `${log}.link`)
    expect(await answer(linked)).toBe(`error ${ELOOP} opening the log of the proxy`)
    expect(existsSync(`${log}.target`)).toBe(false)
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
    const { spec } = proxy()
    const box = await launchBox({ level: 'namespace', spec: [...spec, ...liar(lie)] })
    expect([box.answer, box.log()]).toEqual(['error 71 the program that makes the walls has ended', ''])
    expect(await box.ended).toBe(1)
  })

  test('is given what was asked for, whoever made it', async () => {
    const { spec } = proxy()
    const honest = liar(`t = socket.socket(); t.bind(('127.0.0.1', 3128)); t.listen(1); give(t.fileno())`)
    expect((await launchBox({ level: 'namespace', spec: [...spec, ...honest] })).answer).toMatch(/^ready /)
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
