/** A process whose first thread has ended looks as if it had ended itself: it is held like any other. */
import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { exec, levels, nextId, run, startBox, testFolder, until } from './harness.ts'
import { compiled } from './programs.ts'
import { type RawClient, readTags, type, u32 } from './raw.ts'

/** Longer than between two beats. */
const aWhile = 300

async function ask(client: RawClient, kind: number): Promise<Record<string, string>> {
  const id = nextId()
  client.send(kind, id)
  return readTags((await client.answer(type.ok, id)).payload)
}

function leaderless(): { argv: string[]; walls: string[]; beats: () => number } {
  const [program, file] = [compiled('leaderless'), join(testFolder(), 'beats')]
  writeFileSync(file, '', { mode: 0o666 })
  const walls = [dirname(program), dirname(file)].flatMap((folder) => ['--bind', folder, folder])
  return { argv: [program, file], walls, beats: () => statSync(file).size }
}

async function isSilent(beats: () => number): Promise<boolean> {
  const before = beats()
  await sleep(aWhile)
  return beats() === before
}

async function expectSilence(beats: () => number): Promise<void> {
  expect(await isSilent(beats)).toBe(true)
}

describe.each(levels)('in a box of level %s, a process without its first thread', (level) => {
  test('is counted, stops when all stop, and goes on with them', async () => {
    const { argv, walls, beats } = leaderless()
    const { client } = await startBox({ level, walls })
    expect((await run(client, argv)).exit).toMatchObject({ x: '0' })
    await until(() => beats() > 1, 'it writes')
    expect(await ask(client, type.status)).toEqual({ j: '0', p: '1' })
    await ask(client, type.freeze)
    await expectSilence(beats)
    const before = beats()
    await ask(client, type.thaw)
    await until(() => beats() > before, 'it goes on')
  })

  test.each([
    ['SIGTERM', 'SIGTERM', 0],
    ['the end of its supervisor', 'SIGKILL', 'SIGKILL'],
  ] as const)('ends with the box, by %s', async (_, signal, code) => {
    const { argv, walls, beats } = leaderless()
    const box = await startBox({ level, walls })
    await run(box.client, argv)
    await until(() => beats() > 1, 'it writes')
    box.supervisor.kill(signal)
    expect(await box.ended).toBe(code)
    await until(() => isSilent(beats), 'it has ended too')
    await expectSilence(beats)
  })

  test('gets the signal of a STOP', async () => {
    const { argv, walls, beats } = leaderless()
    const box = await startBox({ level, walls })
    await run(box.client, argv)
    await until(() => beats() > 1, 'it writes')
    box.client.send(type.stop, 1, u32(600_000))
    expect(await box.ended).toBe(0)
    await expectSilence(beats)
  })
})

test('it is killed with the session of its command', async () => {
  const { argv, walls, beats } = leaderless()
  const { client } = await startBox({ walls })
  const id = exec(client, ['sh', '-c', `${argv.join(' ')} same-session; exec sleep 1000`])
  await until(() => beats() > 1, 'it writes')
  client.send(type.signal, id, u32(9))
  await client.answer(type.exit, id)
  await until(() => isSilent(beats), 'it has ended too')
  await expectSilence(beats)
})
