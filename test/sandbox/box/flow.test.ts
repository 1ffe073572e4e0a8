/** Bytes in and out: none lost, none held beyond what was allowed, nobody slowed by another. */
import fc from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  exec,
  finished,
  initOf,
  levels,
  nextId,
  processesWith,
  residentKib,
  run,
  shell,
  sleeper,
  startBox,
  systemPath,
  until,
} from './harness.ts'
import { frame, type RawClient, type Tags, tags, type, u32 } from './raw.ts'

const most = 256 * 1024
const smallKib = 8 * 1024

/** Gives as much credit as has come. */
function keepReading(client: RawClient, id: number, counted: { bytes: number }): void {
  let seen = 0
  client.socket.on('data', () => {
    const fresh = client.frames.slice(seen).filter((it) => it.id === id && isOutput(it.type))
    seen = client.frames.length
    const bytes = fresh.reduce((sum, { payload }) => sum + payload.length, 0)
    counted.bytes += bytes
    if (bytes > 0) client.send(type.credit, id, u32(bytes))
  })
}

const isOutput = (kind: number): boolean => kind === type.stdout || kind === type.stderr

describe.each(levels)('in a box of level %s', (level) => {
  test('input goes in whole, and its end is seen', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['sha256sum'], [['i', '']])
    client.send(type.stdin, id, Buffer.from('hello '))
    client.send(type.stdin, id, Buffer.from('world'))
    client.send(type.eof, id)
    const { stdout } = await finished(client, id)
    expect(stdout).toBe('b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9  -\n')
    const taken = client.frames.filter((it) => it.id === id && it.type === type.taken)
    expect(taken.reduce((sum, { payload }) => sum + payload.readUInt32LE(0), 0)).toBe(11)
  })

  test('input is taken only as fast as it is read', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['sh', '-c', 'read go; cat >/dev/null'], [['i', '']])
    const held = Buffer.alloc(most, 'x')
    held.write('\n', most - 1)
    const takenBytes = (): number =>
      client.frames
        .filter((it) => it.id === id && it.type === type.taken)
        .reduce((sum, { payload }) => sum + payload.readUInt32LE(0), 0)
    const stopped = exec(client, ['sleep', '1000'], [['i', '']])
    client.send(type.stdin, stopped, held)
    client.send(type.stdin, id, held)
    client.send(type.eof, id)
    expect((await finished(client, id)).exit).toMatchObject({ x: '0' })
    expect(takenBytes()).toBe(most)
    const unread = client.frames.filter((it) => it.id === stopped && it.type === type.taken)
    expect(unread.reduce((sum, { payload }) => sum + payload.readUInt32LE(0), 0)).toBeLessThan(most)
  })

  test('input that nobody reads is no error', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['sh', '-c', 'exec <&-; echo closed; sleep 0.2; echo done'], [['i', '']])
    await client.wait((it) => it.id === id && it.type === type.stdout)
    client.send(type.stdin, id, Buffer.alloc(100_000))
    client.send(type.eof, id)
    client.send(type.stdin, id, Buffer.from('after the end'))
    expect(await finished(client, id)).toMatchObject({ stdout: 'closed\ndone\n', exit: { x: '0' } })
  })

  test('no more output comes than there is credit for, in both streams together', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['sh', '-c', 'head -c 50000 /dev/zero; head -c 50000 /dev/zero >&2'], [['c', 30_000]])
    const got = (): number => client.output(id).length + client.output(id, type.stderr).length
    await until(() => got() === 30_000, 'the first credit is used')
    await run(client, ['true'])
    expect(got()).toBe(30_000)
    client.send(type.credit, id, u32(30_000))
    await until(() => got() === 60_000, 'the second credit is used')
    client.send(type.credit, id, u32(40_000))
    await finished(client, id)
    expect([client.output(id).length, client.output(id, type.stderr).length]).toEqual([50_000, 50_000])
  })

  test('one whose output is not read does not slow another', async () => {
    const { client } = await startBox({ level })
    const stuck = exec(client, ['sh', '-c', 'yes'], [['c', 1000]])
    await until(() => client.output(stuck).length === 1000, 'its credit is used')
    const counted = { bytes: 0 }
    const id = exec(client, ['head', '-c', '20000000', '/dev/zero'])
    keepReading(client, id, counted)
    await finished(client, id)
    expect(counted.bytes).toBe(20_000_000)
    expect(client.output(stuck).length).toBe(1000)
  })

  test('20 commands run side by side, and none is mixed up', async () => {
    const { client } = await startBox({ level })
    const numbers = Array.from({ length: 20 }, (_, at) => at)
    const ids = numbers.map((at) =>
      exec(client, ['sh', '-c', `echo up; read go; echo $go ${at}; exit ${at}`], [['i', '']]),
    )
    // None ends before all have begun.
    await until(() => ids.every((id) => client.output(id).toString() === 'up\n'), 'all are up')
    for (const [at, id] of [...ids.entries()].reverse()) client.send(type.stdin, id, Buffer.from(`go${at}\n`))
    const ends = await Promise.all(ids.map((id) => finished(client, id)))
    expect(ends.map(({ stdout, exit }) => [stdout, exit['x']])).toEqual(
      numbers.map((at) => [`up\ngo${at} ${at}\n`, `${at}`]),
    )
  })

  test('what is over the output limit is thrown away, and told', async () => {
    const { client } = await startBox({ level })
    const over = await shell(client, 'head -c 3000000 /dev/zero; echo end >&2; exit 3', [
      ['m', 100_000],
      ['c', 100_000],
    ])
    expect([over.stdout.length + over.stderr.length, over.exit['x'], over.exit['O']]).toEqual([100_000, '3', ''])
    const exact = await run(client, ['head', '-c', '100000', '/dev/zero'], [['m', 100_000]])
    expect([exact.stdout.length, 'O' in exact.exit]).toEqual([100_000, false])
    const none = await shell(client, 'echo x', [['m', 0]])
    expect([none.stdout, none.exit['O']]).toEqual(['', ''])
  })

  test('when the time of a command is over it is killed, with all of its session', async () => {
    const { client } = await startBox({ level })
    const { mark } = sleeper()
    const { exit } = await shell(client, `set -m; sleep ${mark} & sleep ${mark}`, [['t', 300]])
    expect(exit).toMatchObject({ s: '9', T: '' })
    await until(() => processesWith(`sleep\0${mark}`).length === 0, 'both are gone')
    expect((await run(client, ['true'], [['t', 60_000]])).exit).not.toHaveProperty('T')
  })

  test('a command that ended in time was in time, however late its output is read', async () => {
    const { client } = await startBox({ level })
    const { mark } = sleeper()
    const more: Tags = [
      ['t', 2000],
      ['c', 10],
    ]
    const ids = [
      exec(client, ['head', '-c', '30000', '/dev/zero'], more),
      exec(client, ['sh', '-c', 'head -c 30000 /dev/zero; kill -9 $$'], more),
      exec(client, ['sh', '-c', `head -c 30000 /dev/zero; sleep ${mark}`], more),
    ]
    for (const id of ids) await client.answer(type.started, id)
    await until(() => processesWith(mark).length === 0, 'its time is over')
    for (const id of ids) client.send(type.credit, id, u32(100_000))
    const exits = await Promise.all(ids.map(async (id) => (await finished(client, id)).exit))
    expect(exits.map(({ x, s, T }) => ({ x, s, T }))).toEqual([{ x: '0' }, { s: '9' }, { s: '9', T: '' }])
    expect(ids.map((id) => client.output(id).length)).toEqual([30_000, 30_000, 30_000])
    expect(client.frames.some((it) => it.type > type.taken)).toBe(false)
  })

  test('the exit comes after all output, and is not held up by what runs on in the background', async () => {
    const { client } = await startBox({ level })
    const { mark } = sleeper()
    const { stdout, exit } = await shell(
      client,
      `echo first; (while sleep 0.01; do echo on; done; sleep ${mark}) & exit 5`,
    )
    expect([stdout.startsWith('first\n'), exit['x']]).toEqual([true, '5'])
    // It goes on, and its writing does not fail.
    await sleep(300)
    expect(processesWith(mark)).not.toEqual([])
  })

  test('a slow reader gets everything before the exit, though the command has long ended', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['head', '-c', '60000', '/dev/zero'], [['c', 1000]])
    await until(() => client.output(id).length === 1000, 'the first credit is used')
    await sleep(300)
    expect(client.frames.some((it) => it.id === id && it.type === type.exit)).toBe(false)
    client.send(type.credit, id, u32(100_000))
    await finished(client, id)
    expect(client.output(id).length).toBe(60_000)
  })

  test('100 MB to a slow reader leave supervisor and init small', async () => {
    const box = await startBox({ level })
    const id = exec(box.client, ['head', '-c', '100000000', '/dev/zero'], [['c', most]])
    const counted = { bytes: 0 }
    keepReading(box.client, id, counted)
    let largest = 0
    const measure = (): void => {
      largest = Math.max(largest, residentKib(box.pid), residentKib(initOf(box, level)))
    }
    // It stops reading, for a while, again and again.
    for (let pause = 0; pause < 10; pause++) {
      box.client.socket.pause()
      await sleep(30)
      measure()
      box.client.socket.resume()
      await sleep(10)
      measure()
    }
    await finished(box.client, id)
    measure()
    expect(counted.bytes).toBe(100_000_000)
    expect(largest).toBeGreaterThan(0)
    expect(largest).toBeLessThan(smallKib)
  })

  test('a client that gives endless credit and reads nothing leaves them small too', async () => {
    const box = await startBox({ level })
    const other = await box.connect()
    for (let count = 0; count < 5; count++) {
      const id = nextId()
      const list = ['yes'].map((it) => ['a', it] as const)
      box.client.send(type.exec, id, tags([...list, ['d', '/'], ['e', systemPath], ['c', 4_000_000_000]]))
    }
    box.client.socket.pause()
    const counted = { bytes: 0 }
    const id = exec(other, ['head', '-c', '5000000', '/dev/zero'])
    keepReading(other, id, counted)
    await finished(other, id)
    expect(counted.bytes).toBe(5_000_000)
    await sleep(300)
    expect(residentKib(box.pid)).toBeLessThan(smallKib)
    expect(residentKib(initOf(box, level))).toBeLessThan(smallKib)
  })
})

test('frames may come in any pieces', async () => {
  const { client } = await startBox()
  const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 })
  const texts = fc.array(fc.stringMatching(/^[a-z]{0,20}$/), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(pieces, texts, async (sizes, inputs) => {
      const id = nextId()
      const list = tags([
        ['a', 'cat'],
        ['d', '/'],
        ['e', systemPath],
        ['c', 100_000],
        ['i', ''],
      ])
      const all = Buffer.concat([
        frame(type.exec, id, list),
        ...inputs.map((text) => frame(type.stdin, id, Buffer.from(text))),
        frame(type.ping, nextId()),
        frame(type.eof, id),
      ])
      let at = 0
      for (let turn = 0; at < all.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1
        await new Promise((resolve) => client.socket.write(all.subarray(at, at + size), resolve))
        at += size
      }
      expect((await finished(client, id)).stdout).toBe(inputs.join(''))
    }),
    { numRuns: 40 },
  )
})
