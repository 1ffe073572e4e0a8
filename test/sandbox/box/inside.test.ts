/** What can be asked of a box besides commands. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  exec,
  finished,
  levels,
  nextId,
  processesWith,
  procFile,
  run,
  shell,
  sleeper,
  startBox,
  testFolder,
  until,
} from './harness.ts'
import { type RawClient, readTags, tags, type, u32 } from './raw.ts'

const { errno } = constants

const server = `
import socket, sys
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(1)
print(s.getsockname()[1], flush=True)
c, _ = s.accept()
got = b''
while True:
    part = c.recv(65536)
    if not part: break
    got += part
c.sendall(b'got %d ' % len(got) + got[:5]); c.close()
`

async function startServer(client: RawClient): Promise<number> {
  const id = exec(client, ['python3', '-c', server])
  const { payload } = await client.wait((it) => it.id === id && it.type === type.stdout)
  return Number(payload.toString())
}

function put(client: RawClient, path: string, mode: string, content: Uint8Array): number {
  const id = nextId()
  client.send(
    type.put,
    id,
    Buffer.concat([
      tags([
        ['f', path],
        ['o', mode],
      ]),
      Buffer.from([0]),
      content,
    ]),
  )
  return id
}

async function ask(client: RawClient, kind: number, payload?: Uint8Array): Promise<Record<string, string>> {
  const id = nextId()
  client.send(kind, id, payload)
  return readTags((await client.answer(type.ok, id)).payload)
}

describe.each(levels)('in a box of level %s', (level) => {
  test('a connection to what listens inside, both ways', async () => {
    const { client } = await startBox({ level })
    const port = await startServer(client)
    const id = nextId()
    client.send(
      type.connect,
      id,
      tags([
        ['n', port],
        ['c', 100_000],
      ]),
    )
    client.send(type.stdin, id, Buffer.from('before it stands'))
    expect((await client.answer(type.started, id)).payload.readUInt32LE(0)).toBe(0)
    client.send(type.stdin, id, Buffer.alloc(100_000, 'x'))
    client.send(type.eof, id)
    expect(await finished(client, id)).toMatchObject({ stdout: 'got 100016 befor', exit: { x: '0' } })
  })

  test('a port that nobody listens on is an error', async () => {
    const { client } = await startBox({ level })
    client.send(type.connect, 1, tags([['n', 1]]))
    expect((await client.answer(type.err, 1)).payload.readInt32LE(0)).toBe(errno.ECONNREFUSED)
    client.send(type.connect, 2, tags([['n', 0]]))
    expect((await client.answer(type.err, 2)).payload.readInt32LE(0)).toBe(errno.EINVAL)
  })

  test('a connection is closed by SIGKILL, and when its client goes', async () => {
    const box = await startBox({ level })
    const port = await startServer(box.client)
    const other = await box.connect()
    other.send(type.connect, 1, tags([['n', port]]))
    await other.answer(type.started, 1)
    other.socket.destroy()
    const server = box.client.frames.find((it) => it.type === type.stdout)?.id ?? 0
    expect((await box.client.answer(type.exit, server)).payload.toString()).toMatch(/^x/)
  })

  test('a file that was put is there whole, with its mode, and its directories are closed to others', async () => {
    const folder = testFolder()
    const { client } = await startBox({ level, walls: ['--bind', folder, folder] })
    const content = Buffer.alloc(3_000_000, 'secret ')
    await client.answer(type.ok, put(client, `${folder}/a/b/file`, '0400', content))
    expect(readFileSync(`${folder}/a/b/file`).equals(content)).toBe(true)
    expect(['a', 'a/b', 'a/b/file'].map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8))).toEqual([
      '700',
      '700',
      '400',
    ])
    await client.answer(type.ok, put(client, `${folder}/a/b/file`, '0644', Buffer.from('other')))
    expect(readFileSync(`${folder}/a/b/file`, 'utf8')).toBe('other')
    expect(readdirSync(`${folder}/a/b`)).toEqual(['file'])
  })

  test('no link leads a file that is put elsewhere', async () => {
    const folder = testFolder()
    mkdirSync(`${folder}/outside`)
    symlinkSync('outside', `${folder}/link`)
    symlinkSync('outside/target', `${folder}/name`)
    const { client } = await startBox({ level, walls: ['--bind', folder, folder] })
    const errorOf = async (path: string): Promise<number> =>
      (await client.answer(type.err, put(client, path, '0600', Buffer.from('x')))).payload.readInt32LE(0)
    expect(await errorOf(`${folder}/link/a/b/file`)).toBe(errno.ENOTDIR)
    expect(await errorOf(`${folder}/../file`)).toBe(errno.EINVAL)
    expect(await errorOf('file')).toBe(errno.EINVAL)
    await client.answer(type.ok, put(client, `${folder}/name`, '0600', Buffer.from('x')))
    expect(readFileSync(`${folder}/name`, 'utf8')).toBe('x')
    expect(readdirSync(`${folder}/outside`)).toEqual([])
    expect(readdirSync(folder).toSorted()).toEqual(['link', 'name', 'outside'])
  })

  test('what is in the way of a file that is put gives way, and nothing else does', async () => {
    const folder = testFolder()
    const { client } = await startBox({ level, walls: ['--bind', folder, folder] })
    const path = `${folder}/own/files/key`
    const ways = [
      'mkdir own outside; ln -s ../outside own/files',
      'mkdir outside; ln -s outside own; mkdir outside/files',
      'mkdir own outside; echo x >own/files',
      'mkdir -p own outside; mkfifo own/files',
      'mkdir -p own/files outside; ln -s ../../outside/file own/files/key',
      'mkdir -p own/files/key outside',
      'mkdir -p own/files/key/full/of/more outside',
      'mkdir -p own/files outside; chmod 0 own/files own',
      'mkdir -p own/files outside; for n in $(seq 200); do mkdir own/files/.aw-put-1-$n; done',
    ]
    for (const way of ways) {
      expect((await shell(client, `chmod -R 700 own; rm -rf own outside; ${way}`, [['d', folder]])).exit['x']).toBe('0')
      await client.answer(type.ok, put(client, path, '0400', Buffer.from('secret')))
      expect([way, statSync(path).isFile(), readFileSync(path, 'utf8')]).toEqual([way, true, 'secret'])
      expect([way, readdirSync(`${folder}/outside`).filter((name) => name !== 'files')]).toEqual([way, []])
      await ask(client, type.remove, tags([['f', path]]))
      expect([way, readdirSync(`${folder}/own/files`)]).toEqual([way, expect.not.arrayContaining(['key'])])
    }
    expect(lstatSync(`${folder}/own`).isDirectory()).toBe(true)
  })

  test('a file that was put can be removed, and what is not there is', async () => {
    const folder = testFolder()
    const { client } = await startBox({ level, walls: ['--bind', folder, folder] })
    const remove = (path: string): Promise<unknown> => ask(client, type.remove, tags([['f', path]]))
    mkdirSync(`${folder}/outside`)
    writeFileSync(`${folder}/outside/key`, 'stays')
    symlinkSync('outside', `${folder}/link`)
    symlinkSync('outside/key', `${folder}/name`)
    mkdirSync(`${folder}/full/of`, { recursive: true })
    await client.answer(type.ok, put(client, `${folder}/a/key`, '0400', Buffer.from('secret')))
    for (let time = 0; time < 2; time++) await remove(`${folder}/a/key`)
    for (const name of ['no/such/key', 'link/key', 'name', 'full', 'outside/key/below'])
      await remove(`${folder}/${name}`)
    expect(readdirSync(`${folder}/a`)).toEqual([])
    expect(readFileSync(`${folder}/outside/key`, 'utf8')).toBe('stays')
    expect(readdirSync(folder).filter((name) => !name.startsWith('.'))).toEqual(['a', 'link', 'outside'])
    await expect(remove('relative')).rejects.toMatchObject({ errno: errno.EINVAL })
    await expect(remove(`${folder}/../file`)).rejects.toMatchObject({ errno: errno.EINVAL })
  })

  test('the status counts commands and processes', async () => {
    const { client } = await startBox({ level })
    expect(await ask(client, type.status)).toEqual({ j: '0', p: '0' })
    const id = exec(client, ['sh', '-c', 'sleep 1000 & sleep 1000 & echo up; wait'])
    await client.wait((it) => it.id === id && it.type === type.stdout)
    expect(await ask(client, type.status)).toEqual({ j: '1', p: '3' })
  })

  test('frozen, nothing runs; thawed, it goes on, and what was asked for meanwhile begins', async () => {
    const folder = testFolder()
    writeFileSync(`${folder}/count`, '')
    const { client } = await startBox({ level, walls: ['--bind', folder, folder] })
    const busy = Array.from({ length: 4 }, () =>
      exec(client, ['sh', '-c', `echo up; while :; do echo x >>${folder}/count; /bin/true; done`]),
    )
    for (const id of busy) await client.wait((it) => it.id === id && it.type === type.stdout)
    for (let round = 0; round < 5; round++) {
      await ask(client, type.freeze)
      const before = statSync(`${folder}/count`).size
      const late = exec(client, ['touch', `${folder}/late-${round}`])
      await sleep(50)
      expect(statSync(`${folder}/count`).size).toBe(before)
      expect(readdirSync(folder)).not.toContain(`late-${round}`)
      await ask(client, type.thaw)
      expect((await finished(client, late)).exit).toMatchObject({ x: '0' })
      await until(() => statSync(`${folder}/count`).size > before, 'it goes on')
    }
  })

  test('it is frozen by one at a time, and goes on when that one is gone', async () => {
    const box = await startBox({ level })
    const { argv, mark } = sleeper()
    const id = exec(box.client, argv)
    await box.client.answer(type.started, id)
    const other = await box.connect()
    await ask(other, type.freeze)
    const [pid = 0] = processesWith(mark)
    expect(procFile(pid, 'status')).toMatch(/State:\s+T/)
    box.client.send(type.freeze, 1)
    expect((await box.client.answer(type.err, 1)).payload.readInt32LE(0)).toBe(errno.EBUSY)
    box.client.send(type.thaw, 2)
    expect((await box.client.answer(type.err, 2)).payload.readInt32LE(0)).toBe(errno.EINVAL)
    other.socket.destroy()
    await until(() => /State:\s+S/.test(procFile(pid, 'status')), 'it goes on')
  })

  test('what is frozen can be killed and stopped', async () => {
    const { client, ended } = await startBox({ level })
    const id = exec(client, sleeper().argv)
    await client.answer(type.started, id)
    await ask(client, type.freeze)
    client.send(type.signal, id, u32(9))
    expect((await finished(client, id)).exit).toMatchObject({ s: '9' })
    await ask(client, type.stop, u32(5000))
    expect(await ended).toBe(0)
  })

  test('a ping is answered', async () => {
    const { client } = await startBox({ level })
    expect(await ask(client, type.ping)).toEqual({})
    expect((await run(client, ['true'])).exit).toMatchObject({ x: '0' })
    expect((await shell(client, 'true')).exit).toMatchObject({ x: '0' })
  })
})
