/** Others that break the rules: clients, and what runs in the place of init. */
import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exec, launchBox, processesWith, procFile, run, shell, startBox, testFolder, until } from './harness.ts'
import { frame, rawClient, tags, type, u32 } from './raw.ts'

describe('a client', () => {
  const garbage: readonly (readonly [string, Buffer])[] = [
    ['a frame that is too long', u32(4 * 1024 * 1024 + 1)],
    ['a frame of the greatest length', u32(0xffffffff)],
    ['a frame that is too short', Buffer.concat([u32(4), Buffer.alloc(4)])],
    ['an empty frame', u32(0)],
    ['a type that does not exist', frame(99, 1)],
    ['a type of answers', frame(type.stdout, 1, Buffer.from('x'))],
    ['a type between supervisor and init', frame(14, 1, tags([['V', 1]]))],
    ['a stop without its time', frame(type.stop, 1)],
    ['text', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
  ]

  test.each(garbage)('that sends %s is cut off, and the others are not', async (_, bytes) => {
    const box = await startBox()
    const bad = await box.connect()
    bad.socket.write(bytes)
    await bad.closed
    expect((await run(box.client, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('that uses an id twice is cut off', async () => {
    const box = await startBox()
    const bad = await box.connect()
    const list = tags([
      ['a', 'sleep'],
      ['a', '1000'],
      ['d', '/'],
    ])
    bad.send(type.exec, 1, list)
    bad.send(type.exec, 1, list)
    await bad.closed
    expect((await run(box.client, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('that sends more input than was taken is cut off', async () => {
    const box = await startBox()
    const bad = await box.connect()
    const id = exec(bad, ['sleep', '1000'], [['i', '']])
    await bad.answer(type.started, id)
    for (let count = 0; count < 5; count++) bad.send(type.stdin, id, Buffer.alloc(128 * 1024))
    await bad.closed
    expect((await run(box.client, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('that asks and asks and reads nothing does not make the supervisor large', async () => {
    const box = await startBox()
    const bad = await box.connect()
    bad.socket.pause()
    const pings = Buffer.concat(Array.from({ length: 20_000 }, (_, at) => frame(type.ping, at + 1)))
    for (let count = 0; count < 20; count++) bad.socket.write(pings)
    for (let count = 0; count < 20; count++) await run(box.client, ['true'])
    expect(Number(/VmRSS:\s+(\d+)/.exec(procFile(box.pid, 'status'))?.[1])).toBeLessThan(8 * 1024)
  })

  test('that sends any bytes at all harms nobody else', async () => {
    const box = await startBox()
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 16 }), bytes, fc.boolean(), async (kind, data, framed) => {
        // A STOP would end the box, and rightly.
        fc.pre(kind !== type.stop && (framed || data[4] !== type.stop))
        const bad = await box.connect()
        bad.socket.end(framed ? frame(kind, 1, data) : Buffer.from(data))
        await bad.closed
        expect((await run(box.client, ['true'])).exit).toMatchObject({ x: '0' })
      }),
      { numRuns: 100 },
    )
    expect(box.supervisor.exitCode).toBeNull()
  })

  test('too many is told so, and the others go on', async () => {
    const box = await startBox()
    const others = await Promise.all(Array.from({ length: 255 }, () => box.connect()))
    const late = rawClient(connect(box.socket))
    const { payload } = await late.answer(type.err, 0)
    await late.closed
    expect([payload.readInt32LE(0), payload.toString('utf8', 4)]).toEqual([
      constants.errno.EAGAIN,
      expect.stringMatching(/^too many connections: /),
    ])
    expect((await run(box.client, ['true'])).exit).toMatchObject({ x: '0' })
    others[0]?.socket.destroy()
    await until(async () => (await box.connect().catch(() => undefined)) !== undefined, 'there is room again')
  })

  test('of another user is turned away, and root and the own user are not', async () => {
    const box = await startBox()
    chmodSync(box.folder, 0o777)
    chmodSync(dirname(box.socket), 0o777)
    chmodSync(box.socket, 0o777)
    const script = `
      import socket, sys
      s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(10)
      try: print(len(s.recv(100)))
      except ConnectionResetError: print(0)`.replaceAll('\n      ', '\n')
    const as = (uid: number): string =>
      spawnSync('python3', ['-c', script, box.socket], { uid, gid: uid, encoding: 'utf8' }).stdout
    expect(as(65534)).toBe('0\n')
    expect(Number(as(0))).toBeGreaterThan(10)
    const own = await startBox({ uid: 65534 })
    expect((await shell(own.client, 'id -u')).stdout).toBe('65534\n')
  })
})

/** A program in the place of init. It has read the setup; the script does the rest with `send(type, id, payload)`. */
function fakeInit(script: string): string[] {
  const file = join(testFolder(), 'init.mjs')
  writeFileSync(
    file,
    `import { Socket } from 'node:net'
     const socket = new Socket({ fd: 3 })
     const send = (type, id, payload = Buffer.alloc(0)) => {
       const head = Buffer.alloc(9)
       head.writeUInt32LE(5 + payload.length, 0); head.writeUInt8(type, 4); head.writeUInt32LE(id, 5)
       socket.write(Buffer.concat([head, payload]))
     }
     const ready = () => send(64, 0, Buffer.from('V1\\0'))
     const u32 = (value) => { const it = Buffer.alloc(4); it.writeUInt32LE(value); return it }
     let onFrame = () => {}
     let held = Buffer.alloc(0), first = true
     socket.on('data', (chunk) => {
       held = Buffer.concat([held, chunk])
       while (held.length >= 4 && held.length >= 4 + held.readUInt32LE(0)) {
         const end = 4 + held.readUInt32LE(0)
         const frame = { type: held[4], id: held.readUInt32LE(5), payload: held.subarray(9, end) }
         held = held.subarray(end)
         if (first) { first = false; begin() } else onFrame(frame)
       }
     })
     setInterval(() => {}, 1000)
     const begin = () => { ${script} }`,
  )
  return [process.execPath, file]
}

const spec = (script: string): (readonly [string, string])[] => fakeInit(script).map((it) => ['A', it] as const)

describe('an init', () => {
  test.each([
    ['is of another version', `send(64, 0, Buffer.from('V2\\0'))`],
    ['says something else first', `send(65, 0, Buffer.from('x'))`],
    ['sends a frame that is too long', `socket.write(u32(0xffffffff))`],
    ['sends text', `socket.write('hello there, this is no frame')`],
    ['ends', `process.exit(0)`],
  ])('that %s before it is ready: no box', async (_, script) => {
    const box = await launchBox({ spec: spec(script) })
    expect([box.answer, box.log()]).toEqual(['error 71 the program that makes the walls has ended', ''])
    expect(await box.ended).toBe(1)
  })

  test.each([
    ['answers what nobody asked', `ready(); onFrame = () => send(67, 7, Buffer.from('x0\\0'))`],
    ['uses a number that does not exist', `ready(); onFrame = () => send(67, 0xffffffff, Buffer.from('x0\\0'))`],
    ['sends a frame that is too long', `ready(); onFrame = () => socket.write(u32(4 << 20))`],
    ['sends a frame that is too short', `ready(); onFrame = () => socket.write(u32(1))`],
    [
      'sends more than it has credit for',
      `ready(); onFrame = ({ id }) => {
        send(70, id, u32(1)); for (let n = 0; n < 10; n++) send(65, id, Buffer.alloc(60000)) }`,
    ],
    ['sends output before the start', `ready(); onFrame = ({ id }) => send(65, id, Buffer.from('x'))`],
    ['sends empty output', `ready(); onFrame = ({ id }) => { send(70, id, u32(1)); send(65, id) }`],
    ['starts twice', `ready(); onFrame = ({ id }) => { send(70, id, u32(1)); send(70, id, u32(1)) }`],
    [
      'ends twice',
      `ready(); onFrame = ({ id }) => {
        send(70, id, u32(1)); send(67, id, Buffer.from('x0\\0')); send(67, id, Buffer.from('x0\\0')) }`,
    ],
    ['ends what has not started', `ready(); onFrame = ({ id }) => send(72, id)`],
    [
      'says twice that it has ended',
      `ready(); onFrame = ({ id }) => { send(70, id, u32(1)); send(72, id); send(72, id) }`,
    ],
    ['has taken what was not sent', `ready(); onFrame = ({ id }) => { send(70, id, u32(1)); send(71, id, u32(1)) }`],
    [
      'says itself that time was over',
      `ready(); onFrame = ({ id }) => {
        send(70, id, u32(1)); send(67, id, Buffer.from('x0\\0T\\0')) }`,
    ],
    [
      'says numbers that are none',
      `ready(); onFrame = ({ id }) => {
        send(70, id, u32(1)); send(67, id, Buffer.from('x0\\0mlots\\0')) }`,
    ],
    ['answers a command with OK', `ready(); onFrame = ({ id }) => send(68, id)`],
    ['speaks as a client', `ready(); onFrame = ({ id }) => send(12, id, u32(0))`],
    ['is ready twice', `ready(); onFrame = () => ready()`],
    ['ends', `ready(); onFrame = () => process.exit(3)`],
  ])('that %s ends its box, and nothing is left', async (_, script) => {
    const walls = spec(script)
    const box = await startBox({ spec: walls })
    exec(box.client, ['true'])
    expect(await box.ended).toBe(0)
    await box.client.closed
    expect(processesWith(walls[1]?.[1] ?? 'no mark')).toEqual([])
  })

  test('that sends any bytes at all never hangs its supervisor', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 40 }), async (bytes) => {
        const script = `ready(); onFrame = () => { socket.end(Buffer.from('${Buffer.from(bytes).toString('hex')}', 'hex')) }`
        const box = await startBox({ spec: spec(script) })
        exec(box.client, ['true'])
        expect(await box.ended).toBe(0)
      }),
      { numRuns: 8 },
    )
  })

  test('that does not read neither hangs its supervisor nor makes it large', async () => {
    const box = await startBox({ spec: spec(`ready(); socket.pause()`) })
    const id = exec(box.client, ['cat'], [['i', '']])
    box.client.send(type.stdin, id, Buffer.alloc(256 * 1024))
    for (let count = 0; count < 20; count++) {
      box.client.send(
        type.put,
        1000 + count,
        Buffer.concat([
          tags([
            ['f', '/x'],
            ['o', '600'],
          ]),
          Buffer.alloc(2_000_000),
        ]),
      )
    }
    const other = await box.connect()
    other.send(type.ping, 1)
    await other.answer(type.ok, 1)
    expect(Number(/VmRSS:\s+(\d+)/.exec(procFile(box.pid, 'status'))?.[1])).toBeLessThan(12 * 1024)
    other.send(type.stop, 2, u32(100))
    expect(await box.ended).toBe(0)
  })

  test('that sends descriptors which nobody asked for: none of them is kept', async () => {
    const plain = await startBox()
    const script = `
import array, os, socket, time
s = socket.socket(fileno=3)
s.recv(1000)
send = lambda data: s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', os.pipe()))])
send(b'\\x08\\0\\0\\0\\x40\\0\\0\\0\\0V1\\0')
time.sleep(0.2)
send(b'\\x08'); send(b'\\0')
time.sleep(1000)`
    const walls = ['/usr/bin/python3', '-c', script.trim()]
    const box = await startBox({ spec: walls.map((it) => ['A', it] as const) })
    await sleep(500)
    expect(box.supervisor.exitCode).toBeNull()
    expect(descriptors(box.pid)).toBe(descriptors(plain.pid))
  })
})

const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

test('a connection that says nothing costs nothing', async () => {
  const box = await startBox()
  const silent = Array.from({ length: 50 }, () => rawClient(connect(box.socket)))
  for (const client of silent) await client.answer(type.ready, 0)
  const ticks = (): number => {
    const [user, system] = procFile(box.pid, 'stat').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []
    return (user ?? 0) + (system ?? 0)
  }
  for (const client of silent.slice(0, 25)) client.socket.destroy()
  await run(box.client, ['true'])
  const before = ticks()
  await run(box.client, ['sleep', '0.5'])
  expect(ticks() - before).toBeLessThan(10)
  for (const client of silent) client.socket.destroy()
})
