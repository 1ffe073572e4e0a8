/** Commands in a box: what they get, and how they end. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exec, finished, levels, run, shell, startBox, testFolder, until } from './harness.ts'
import { tags, type } from './raw.ts'

const { errno } = constants

describe.each(levels)('in a box of level %s', (level) => {
  test('output, errors and the exit code come apart', async () => {
    const { client } = await startBox({ level })
    const { stdout, stderr, exit } = await shell(client, 'echo out; echo err >&2; exit 42')
    expect({ stdout, stderr }).toEqual({ stdout: 'out\n', stderr: 'err\n' })
    expect(exit).toMatchObject({ x: '42' })
    expect(Object.keys(exit).toSorted()).toEqual(['m', 'u', 'w', 'x', 'y'])
    expect(Number(exit['m'])).toBeGreaterThan(100)
    expect(Number(exit['w'])).toBeGreaterThan(0)
  })

  test('a signal that ended it is told as one', async () => {
    const { client } = await startBox({ level })
    expect((await shell(client, 'kill -TERM $$')).exit).toMatchObject({ s: '15' })
  })

  test('a signal reaches the whole process group', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['sh', '-c', `trap 'echo got; exit 7' INT; echo up; sleep 1000 & wait`])
    await client.wait((it) => it.id === id && it.type === type.stdout)
    client.send(type.signal, id, Buffer.from([2, 0, 0, 0]))
    const { stdout, exit } = await finished(client, id)
    expect({ stdout, code: exit['x'] }).toEqual({ stdout: 'up\ngot\n', code: '7' })
  })

  test('a kill ends its whole session', async () => {
    const { client } = await startBox({ level })
    const script = `set -m; sh -c 'echo $$; exec sleep 1000' & wait`
    const id = exec(client, ['sh', '-c', script])
    const pid = (await client.wait((it) => it.id === id && it.type === type.stdout)).payload.toString().trim()
    client.send(type.signal, id, Buffer.from([9, 0, 0, 0]))
    expect((await finished(client, id)).exit).toMatchObject({ s: '9' })
    // One that was killed may take a moment to end.
    const look = `kill -0 ${pid} 2>/dev/null && grep State /proc/${pid}/status; true`
    await until(async () => !/State:\s+[RSDT]/.test((await shell(client, look)).stdout), 'the other one has ended')
  })

  test('the environment is what was given and nothing else', async () => {
    const { client } = await startBox({ level, env: { SECRET: 'of the supervisor' } })
    const list = [['e', 'B=two words'] as const, ['e', 'A='] as const]
    expect((await run(client, ['/usr/bin/env'], list)).stdout).toBe('B=two words\nA=\n')
  })

  test('it starts where it was told to', async () => {
    const { client } = await startBox({ level })
    expect((await run(client, ['pwd'], [['d', '/usr/bin']])).stdout).toBe('/usr/bin\n')
  })

  test('only descriptors 0 to 2, a session of its own, no signal blocked or ignored', async () => {
    const { client } = await startBox({ level })
    const { stdout } = await shell(client, 'ls /proc/$$/fd; cat /proc/$$/stat; cat /proc/self/status')
    const lines = stdout.split('\n')
    expect(lines.slice(0, 3)).toEqual(['0', '1', '2'])
    const [stat = ''] = lines.filter((line) => line.includes('(sh)'))
    const [, pid, group, session] = /^(\d+) \(sh\) \S \d+ (\d+) (\d+)/.exec(stat) ?? []
    expect([group, session]).toEqual([pid, pid])
    expect(stdout).toMatch(/SigBlk:\s+0+\n/)
    expect(stdout).toMatch(/SigIgn:\s+0+\n/)
  })

  test.each([
    ['a program that is not there', ['no-such-program'], '/', errno.ENOENT, 'exec'],
    ['a path that is not there', ['/no/such/program'], '/', errno.ENOENT, 'exec'],
    ['a folder', ['/usr'], '/', errno.EACCES, 'exec'],
    ['a directory to start in that is not there', ['true'], '/no/such', errno.ENOENT, 'chdir'],
    ['a file to start in', ['true'], '/usr/bin/env', errno.ENOTDIR, 'chdir'],
    ['a relative directory', ['true'], 'usr', errno.EINVAL, 'start'],
    ['nothing to run', [], '/', errno.EINVAL, 'start'],
  ] as const)('%s is an error before anything started', async (_, argv, directory, number, step) => {
    const { client } = await startBox({ level })
    const id = exec(client, argv, [['d', directory]])
    const { payload } = await client.answer(type.err, id)
    expect([payload.readInt32LE(0), payload.toString('utf8', 4).split(':')[0]]).toEqual([number, step])
    expect(client.frames.filter((it) => it.id === id)).toHaveLength(1)
    expect((await run(client, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test.each([
    [
      'an unknown tag',
      tags([
        ['a', 'true'],
        ['d', '/'],
        ['Q', ''],
      ]),
    ],
    [
      'an unknown limit',
      tags([
        ['a', 'true'],
        ['d', '/'],
        ['l', 'stack=1'],
      ]),
    ],
    [
      'a limit that is no number',
      tags([
        ['a', 'true'],
        ['d', '/'],
        ['t', '1s'],
      ]),
    ],
    ['a string without its end', Buffer.from('atrue\0d/')],
    ['an empty string', Buffer.from('atrue\0\0d/\0')],
    [
      'a variable without a value',
      tags([
        ['a', 'true'],
        ['d', '/'],
        ['e', 'NAME'],
      ]),
    ],
  ])('%s is refused', async (_, payload) => {
    const { client } = await startBox({ level })
    client.send(type.exec, 5, payload)
    expect((await client.answer(type.err, 5)).payload.readInt32LE(0)).toBe(errno.EINVAL)
    expect((await run(client, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('limits of the process hold', async () => {
    const { client } = await startBox({ level })
    const list = ['nofile=20', 'fsize=1000', 'core=0', 'cpu=7', 'data=100000000', 'nproc=5000']
    const { stdout } = await run(
      client,
      ['cat', '/proc/self/limits'],
      list.map((it) => ['l', it] as const),
    )
    expect(stdout).toMatch(/Max open files\s+20\s+20 /)
    expect(stdout).toMatch(/Max file size\s+1000\s+1000 /)
    expect(stdout).toMatch(/Max core file size\s+0\s+0 /)
    expect(stdout).toMatch(/Max cpu time\s+7\s+7 /)
    expect(stdout).toMatch(/Max data size\s+100000000\s+100000000 /)
    expect(stdout).toMatch(/Max processes\s+5000\s+5000 /)
  })

  test('without input there is nothing to read', async () => {
    const { client } = await startBox({ level })
    expect(await shell(client, 'cat; echo $?')).toMatchObject({ stdout: '0\n' })
  })

  test('init cannot be looked into', async () => {
    const { client } = await startBox({ level, uid: 65534 })
    expect((await shell(client, 'ls /proc/$PPID/fd')).stderr).toMatch(/Permission denied/)
    expect((await shell(client, 'ls /proc/$$/fd')).stderr).toBe('')
  })
})

test('the program is looked for in the PATH of the command, past what may not be run', async () => {
  const folder = testFolder()
  for (const [name, mode] of [
    ['no', 0o644],
    ['yes', 0o755],
  ] as const) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'tool'), '#!/bin/sh\necho found\n')
    chmodSync(join(folder, name, 'tool'), mode)
  }
  const { client } = await startBox()
  const path = (list: string): readonly [string, string] => ['e', `PATH=${list}`]
  expect((await run(client, ['tool'], [path(`/nowhere:${folder}/no::${folder}/yes`)])).stdout).toBe('found\n')
  const forbidden = exec(client, ['tool'], [path(`${folder}/no`)])
  expect((await client.answer(type.err, forbidden)).payload.readInt32LE(0)).toBe(errno.EACCES)
  const missing = exec(client, ['tool'], [path(''), ['d', `${folder}/yes`]])
  expect((await client.answer(type.err, missing)).payload.readInt32LE(0)).toBe(errno.ENOENT)
})
