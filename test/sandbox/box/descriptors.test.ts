/** Where few files may be open: a box does what it can, says why it cannot do more, and goes on. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { constants } from 'node:os'
import { exec, finished, initOf, levels, nextId, procFile, run, shell, sleeper, startBox, until } from './harness.ts'
import { type RawFrame, tags, type, u32 } from './raw.ts'

const { errno } = constants

const many = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

test('what the starter had open besides is not kept open by the box', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const server = createServer((socket) => socket.on('close', () => resolve('closed')).resume()).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const mine = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(mine, 'connect')
  const { fd } = (mine as unknown as { _handle: { fd: number } })._handle
  const box = await startBox({ descriptors: [fd] })
  mine.destroy()
  expect(await promise).toBe('closed')
  expect((await run(box.client, ['true'])).exit).toMatchObject({ x: '0' })
})

describe.each(levels)('in a box of level %s', (level) => {
  test.each(['40:40', '64:64'])('a command runs with a limit of %s', async (files) => {
    const { client } = await startBox({ level, files })
    for (const text of ['one', 'two']) expect((await run(client, ['echo', text])).stdout).toBe(`${text}\n`)
    expect((await run(client, ['echo', 'three'], [['p', '80,25']])).stdout).toBe('three\r\n')
  })

  test('many run side by side, as far as the limit goes', async () => {
    const { client } = await startBox({ level, files: '300:300' })
    const ends = await Promise.all(many(40).map((at) => shell(client, `sleep 0.5; echo ${at}`)))
    expect(ends.map(({ stdout }) => stdout)).toEqual(many(40).map((at) => `${at}\n`))
    expect((await run(client, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('one that is too many is refused, and the limit named; the box can still be stopped and ended', async () => {
    const box = await startBox({ level, files: '40:40' })
    const { mark } = sleeper()
    const ids = many(30).map(() => exec(box.client, ['sh', '-c', `setsid sleep ${mark} & exec sleep ${mark}`]))
    const answers = await Promise.all(
      ids.map((id) => box.client.wait((it) => it.id === id && [type.started, type.err].includes(it.type as 70))),
    )
    const refused = answers.filter((it) => it.type === type.err)
    expect([refused.length > 0, refused.length < 30]).toEqual([true, true])
    expect(new Set(refused.map(textOf))).toEqual(
      new Set([`${errno.EMFILE} start: the limit of 40 open files (ulimit -n) is too low`]),
    )
    const freeze = nextId()
    box.client.send(type.freeze, freeze)
    await box.client.answer(type.ok, freeze)
    box.client.send(type.thaw, freeze)
    for (const id of ids) box.client.send(type.signal, id, u32(9))
    for (const { id } of answers.filter((it) => it.type === type.started)) await finished(box.client, id)
    // A descriptor is given back when its end has been told, a moment later.
    const again = async (): Promise<unknown> => (await run(box.client, ['true'])).exit
    await expect.poll(again, { timeout: 10_000 }).toMatchObject({ x: '0' })
  })

  test('what commands have left running does not keep others from starting', async () => {
    const box = await startBox({ level, files: '40:40' })
    const { mark } = sleeper()
    for (let left = 20; left > 0; left--)
      expect((await run(box.client, ['sh', '-c', `setsid sleep ${mark} & exec true`])).exit).toMatchObject({ x: '0' })
  })

  test('the limit of the commands is the one that was found, or asked for; that of the box is higher', async () => {
    const box = await startBox({ level, files: '64:4000' })
    expect((await shell(box.client, 'ulimit -Sn; ulimit -Hn')).stdout).toBe('64\n4000\n')
    expect((await shell(box.client, 'ulimit -Sn; ulimit -Hn', [['l', 'nofile=100']])).stdout).toBe('100\n100\n')
    for (const pid of [box.pid, initOf(box, level)]) {
      expect(procFile(pid, 'limits')).toMatch(/Max open files\s+4000\s+4000 /)
    }
  })
})

describe('connections', () => {
  const accepted: Socket[] = []
  const server = createServer((socket) => accepted.push(socket.pause().on('error', () => undefined)))
  afterEach(() => {
    for (const socket of accepted.splice(0)) socket.destroy()
    server.close()
  })

  test('that are read and written count once each', async () => {
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    })
    const { client } = await startBox({ files: '40:40' })
    const ids = many(22).map(() => nextId())
    for (const id of ids) {
      client.send(type.connect, id, tags([['n', port], ['c', 1000]])) // prettier-ignore
      await client.answer(type.started, id)
    }
    // More than the kernel takes of what nobody reads.
    for (const id of ids) client.send(type.stdin, id, Buffer.alloc(256 * 1024))
    accepted[0]?.write('hello')
    await until(() => ids.some((id) => client.output(id).toString() === 'hello'), 'it is read')
    expect(client.frames.some((it) => it.type === type.exit)).toBe(false)
  })
})

test('a box that cannot even start says why', async () => {
  await expect(startBox({ files: '9:9' })).rejects.toThrow(
    /error 24 .*the limit of 9 open files \(ulimit -n\) is too low/,
  )
})

const textOf = ({ payload }: RawFrame): string => `${payload.readInt32LE(0)} ${payload.toString('utf8', 4)}`
