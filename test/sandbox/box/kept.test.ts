/** Commands that outlive whoever asked for them. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exec, finished, levels, nextId, processesWith, run, sleeper, startBox, testFolder, until } from './harness.ts'
import { readTags, tags, type, type Tags } from './raw.ts'

interface Kept {
  readonly kind: number
  readonly at: number
  readonly data: Buffer
}

const pieces = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .sort()

function records(folder: string): Kept[] {
  const found: Kept[] = []
  for (const piece of pieces(folder).filter((name) => /^\d/.test(name))) {
    const bytes = readFileSync(join(folder, piece))
    for (let at = 0; at < bytes.length; at += 13 + bytes.readUInt32LE(at + 9))
      found.push({
        kind: bytes.readUInt8(at),
        at: Number(bytes.readBigUInt64LE(at + 1)),
        data: bytes.subarray(at + 13, at + 13 + bytes.readUInt32LE(at + 9)),
      })
  }
  return found
}

const text = (folder: string, kind = 1): string =>
  Buffer.concat(records(folder).flatMap((it) => (it.kind === kind ? [it.data] : []))).toString('latin1')

const endOf = (folder: string): Record<string, string> | undefined =>
  existsSync(join(folder, 'end')) ? readTags(readFileSync(join(folder, 'end'))) : undefined

function keptFolder(): string {
  const folder = join(testFolder(), 'kept')
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

const script = (line: string, ...more: Tags): [string[], Tags] => [['sh', '-c', line], more]

describe.each(levels)('in a box of level %s, a command that is kept', (level) => {
  test('writes to its log and not to its client, and how it ended is there', async () => {
    const [folder, before] = [keptFolder(), Date.now()]
    const { client } = await startBox({ level })
    const id = exec(client, ...script('echo one; echo two >&2; exit 3', ['K', folder]))
    const { stdout, exit } = await finished(client, id)
    expect([stdout, exit['x']]).toEqual(['', '3'])
    expect([text(folder), text(folder, 2)]).toEqual(['one\n', 'two\n'])
    expect(endOf(folder)).toMatchObject({ x: '3' })
    for (const at of [...records(folder).map((it) => it.at), Number(endOf(folder)?.['e'])]) {
      expect(at).toBeGreaterThanOrEqual(before)
      expect(at).toBeLessThanOrEqual(Date.now())
    }
    expect(readdirSync(folder).sort()).toEqual(['00000000000000000000.log', 'end'])
  })

  test('goes on when its client goes, without waiting for anybody who reads', async () => {
    const folder = keptFolder()
    const box = await startBox({ level })
    const other = await box.connect()
    const id = exec(
      box.client,
      ...script('read gone; head -c 3000000 /dev/zero; echo over', ['K', folder], ['i', ''], ['c', 0]),
    )
    await box.client.answer(type.started, id)
    box.client.socket.destroy()
    await until(() => endOf(folder) !== undefined, 'the end is written')
    expect(text(folder)).toHaveLength(3_000_005)
    expect((await run(other, ['true'])).exit).toMatchObject({ x: '0' })
  })

  test('does not go on with half of its input when its client goes; with all of it, it does', async () => {
    const [half, whole] = [keptFolder(), keptFolder()]
    const { client } = await startBox({ level })
    const ids = [
      exec(client, ...script('sleep 1000; cat', ['K', half], ['i', ''])),
      exec(client, ...script('sleep 0.3; cat', ['K', whole], ['i', ''])),
    ]
    for (const id of ids) await client.answer(type.started, id)
    for (const id of ids) client.send(type.stdin, id, Buffer.from('told'))
    client.send(type.eof, ids[1] ?? 0)
    client.socket.end()
    await until(() => [half, whole].every((folder) => endOf(folder) !== undefined), 'both have ended')
    expect([endOf(half), text(half)]).toEqual([expect.objectContaining({ s: '9' }), ''])
    expect([endOf(whole), text(whole)]).toEqual([expect.objectContaining({ x: '0' }), 'told'])
  })

  test('is ended by a signal that any client sends', async () => {
    const folder = keptFolder()
    const box = await startBox({ level })
    const id = exec(
      box.client,
      ...script('trap "echo stopped; exit 7" TERM; echo up; while :; do sleep 0.05; done', ['K', folder]),
    )
    await box.client.answer(type.started, id)
    await until(() => text(folder) === 'up\n', 'it runs')
    const other = await box.connect()
    const [asked, wrong] = [nextId(), nextId()]
    other.send(
      type.signalKept,
      wrong,
      tags([
        ['K', '/nowhere'],
        ['s', 15],
      ]),
    )
    expect((await other.answer(type.err, wrong)).payload.toString('latin1')).toContain('no such command is kept')
    other.send(
      type.signalKept,
      asked,
      tags([
        ['K', folder],
        ['s', 15],
      ]),
    )
    await other.answer(type.ok, asked)
    expect((await finished(box.client, id)).exit).toMatchObject({ x: '7' })
    expect(text(folder)).toBe('up\nstopped\n')
  })

  test('can end its box, and what is to follow comes after that; not if its client is there to do it', async () => {
    for (const stays of [true, false]) {
      const folder = keptFolder()
      const box = await startBox({ level })
      const { argv, mark } = sleeper()
      const follow: Tags = ['/bin/sh', '-c', 'echo "$NAME" > "$0/followed"', folder].map((it) => ['f', it] as const)
      const id = exec(
        box.client,
        ...script(`${argv.join(' ')} & read gone; exit 0`, ['K', folder], ['i', ''], ['r', ''], ...follow, [
          'F',
          'NAME=aw',
        ]),
      )
      await box.client.answer(type.started, id)
      if (stays) box.client.send(type.eof, id)
      else box.client.socket.destroy()
      expect(await box.ended).toBe(0)
      expect(processesWith(mark)).toEqual([])
      if (stays) expect(readTags((await box.client.answer(type.exit, id)).payload)).toMatchObject({ x: '0' })
      if (stays) expect(existsSync(join(folder, 'followed'))).toBe(false)
      else {
        await until(() => existsSync(join(folder, 'followed')), 'it was followed')
        await until(() => readFileSync(join(folder, 'followed'), 'utf8') === 'aw\n', 'with its variables')
      }
      expect(endOf(folder)).toMatchObject({ x: '0' })
    }
  })

  test('is followed also when its box is ended under it; then how it ended is not known', async () => {
    const folder = keptFolder()
    const box = await startBox({ level })
    const follow: Tags = ['/bin/touch', join(folder, 'followed')].map((it) => ['f', it] as const)
    const id = exec(box.client, ...script('echo up; exec sleep 1000', ['K', folder], ...follow))
    await box.client.answer(type.started, id)
    await until(() => text(folder) === 'up\n', 'it runs')
    box.client.socket.destroy()
    box.supervisor.kill('SIGTERM')
    expect(await box.ended).toBe(0)
    await until(() => existsSync(join(folder, 'followed')), 'it was followed')
    expect(endOf(folder)).toBeUndefined()
  })

  test('loses the oldest of a long log, piece by piece, and says from where on it is there', async () => {
    const folder = keptFolder()
    const { client } = await startBox({ level })
    const count = 400_000
    const id = exec(client, ...script(`seq 1 ${count}`, ['K', folder], ['S', 1 << 17]))
    await finished(client, id)
    const kept = pieces(folder)
    expect(kept.length).toBe(8)
    expect(kept[0]).not.toBe('00000000000000000000.log')
    const sizes = kept.map((name) => readFileSync(join(folder, name)).length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan((1 << 17) + 8 * (65_536 + 13))
    // Each piece begins where the one before it ended.
    for (const [at, name] of kept.slice(1).entries())
      expect(Number.parseInt(name, 10)).toBe(Number.parseInt(kept[at] ?? '', 10) + (sizes[at] ?? 0))
    expect(text(folder).endsWith(`${count - 1}\n${count}\n`)).toBe(true)
  })

  test('goes on when there is no room for its log, and what is lost is counted', async () => {
    const folder = keptFolder()
    const { client } = await startBox({ level, fileBytes: 200_000 })
    const written = 1_000_000
    const { exit } = await finished(
      client,
      exec(client, ...script(`head -c ${written} /dev/zero; exit 5`, ['K', folder])),
    )
    expect(exit).toMatchObject({ x: '5' })
    const told = records(folder).flatMap(({ kind, data }) => (kind === 3 ? [Number(data.readBigUInt64LE(0))] : []))
    const lost = told.reduce((sum, bytes) => sum + bytes, Number(endOf(folder)?.['l'] ?? 0))
    expect(lost).toBeGreaterThan(800_000)
    expect(text(folder).length + lost).toBe(written)
  })

  test('has its end kept although it has filled the disk', async () => {
    const folder = keptFolder()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=755', 'none', folder])
    try {
      const { client } = await startBox({ level })
      const id = exec(client, ...script('read go; exit 6', ['K', folder], ['i', '']))
      await client.answer(type.started, id)
      expect(() => writeFileSync(join(folder, 'large'), Buffer.alloc(1 << 20))).toThrow('ENOSPC')
      client.send(type.stdin, id, Buffer.from('go\n'))
      expect((await finished(client, id)).exit).toMatchObject({ x: '6' })
      expect(endOf(folder)).toMatchObject({ x: '6' })
    } finally {
      execFileSync('umount', ['--lazy', folder])
    }
  })

  test('that cannot be started has an end that says so', async () => {
    const folder = keptFolder()
    const { client } = await startBox({ level })
    const id = exec(client, ['/no/such/program'], [['K', folder]])
    await client.answer(type.err, id)
    expect(endOf(folder)).toMatchObject({ E: '2' })
  })

  test('is refused if its directory is none, or what belongs together is not together', async () => {
    const folder = keptFolder()
    const link = join(folder, 'link')
    symlinkSync(folder, link)
    const { client } = await startBox({ level })
    const wrong: Tags[] = [
      [['K', link]],
      [['K', '/nowhere/at/all']],
      [['K', 'relative']],
      [
        ['K', folder],
        ['S', 1],
      ],
      [
        ['K', folder],
        ['f', 'relative'],
      ],
      [['r', '']],
      [['f', '/bin/true']],
    ]
    for (const more of wrong)
      expect((await client.answer(type.err, exec(client, ['true'], more))).id).toBeGreaterThan(0)
    expect(readdirSync(folder)).toEqual(['link'])
    expect((await run(client, ['echo', 'fine'])).stdout).toBe('fine\n')
  })
})
