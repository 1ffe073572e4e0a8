/** Commands with a terminal. */
import { describe, expect, test } from 'vitest'
import { exec, finished, levels, startBox, until } from './harness.ts'
import { type RawClient, type } from './raw.ts'

const size = (columns: number, rows: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt16LE(columns, 0)
  bytes.writeUInt16LE(rows, 2)
  return bytes
}

const shown = (client: RawClient, id: number): string => client.output(id).toString('latin1')

describe.each(levels)('in a box of level %s', (level) => {
  test('it has one of the size that was asked for, and all its output is one stream', async () => {
    const { client } = await startBox({ level })
    const id = exec(
      client,
      ['sh', '-c', 'test -t 0 && test -t 1 && test -t 2 && stty size; echo err >&2'],
      [['p', '81,25']],
    )
    const { stdout, stderr, exit } = await finished(client, id)
    expect({ stdout, stderr, code: exit['x'] }).toEqual({ stdout: '25 81\r\nerr\r\n', stderr: '', code: '0' })
  })

  test('another size is told to it', async () => {
    const { client } = await startBox({ level })
    const script = `trap 'stty size; exit 0' WINCH; echo up; while :; do sleep 0.05; done`
    const id = exec(client, ['sh', '-c', script], [['p', '80,24']])
    await until(() => shown(client, id).includes('up'), 'it is up')
    client.send(type.resize, id, size(100, 50))
    expect((await finished(client, id)).stdout).toContain('50 100')
  })

  test('what is typed goes in, the interrupt character interrupts, the end is seen', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['sh', '-c', `trap 'echo interrupted' INT; echo up; cat; cat; echo over`], [['p', '80,24']])
    await until(() => shown(client, id).includes('up'), 'it is up')
    client.send(type.stdin, id, Buffer.from('typed\n'))
    await until(() => shown(client, id).split('typed').length === 3, 'it was shown and repeated')
    client.send(type.stdin, id, Buffer.from('\u0003'))
    await until(() => shown(client, id).includes('interrupted'), 'it was interrupted')
    client.send(type.eof, id)
    expect((await finished(client, id)).stdout).toMatch(/over\r\n$/)
  })

  test('a signal goes to what is in the foreground', async () => {
    const { client } = await startBox({ level })
    const id = exec(client, ['bash', '-c', `set -m; sh -c 'echo up; sleep 1000'; echo "ended $?"`], [['p', '80,24']])
    await until(() => shown(client, id).includes('up'), 'it is up')
    client.send(type.signal, id, Buffer.from([15, 0, 0, 0]))
    const { stdout, exit } = await finished(client, id)
    expect(stdout).toContain('ended 143')
    expect(exit).toMatchObject({ x: '0' })
  })

  test('a command that has ended leaves nothing that waits for its terminal', async () => {
    const { client } = await startBox({ level })
    const id = exec(
      client,
      ['bash', '-c', `head -c 5000 /dev/zero | tr '\\0' x; sleep 1000 & disown; exit 4`],
      [['p', '80,24']],
    )
    const { stdout, exit } = await finished(client, id)
    expect([stdout, exit['x']]).toEqual(['x'.repeat(5000), '4'])
  })
})
