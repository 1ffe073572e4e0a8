/** A box whose tree has a size limit that no kernel enforces: its supervisor measures the tree. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { removeTree } from '../../../src/sys/safe-fs/write/remove.ts'
import {
  exec,
  finished,
  levels,
  nextId,
  processesWith,
  shell,
  sleeper,
  startBox,
  testFolder,
  until,
} from './harness.ts'
import { compiled } from './programs.ts'
import { readTags, tags, type, type Tags } from './raw.ts'

const MB = 2 ** 20

/** Too deep for the harness, which removes the rest after this. */
const deepTrees: string[] = []

afterEach(async () => {
  for (const tree of deepTrees.splice(0)) await removeTree(dirname(tree), 'tree')
})

function limited(mb: number): { tree: string; spec: Tags } {
  const tree = join(testFolder(), 'tree')
  mkdirSync(join(tree, 'deep/er'), { recursive: true })
  return {
    tree,
    spec: [
      ['q', tree],
      ['Q', mb * MB],
      ['I', 20],
    ],
  }
}

/** At once: a file that is being written may be measured halfway. */
function fill(tree: string, mb: number): void {
  writeFileSync(`${tree}.file`, Buffer.alloc(mb * MB, 1))
  renameSync(`${tree}.file`, join(tree, 'deep/er/file'))
}

describe.each(levels)('a box of level %s', (level) => {
  test('is stopped when its tree passes the limit, and its commands say why', async () => {
    const { tree, spec } = limited(2)
    const box = await startBox({ level, spec })
    const { argv, mark } = sleeper()
    await shell(box.client, `setsid sh -c 'trap "" TERM; ${argv.join(' ')}' >/dev/null 2>&1 &`)
    const id = exec(box.client, ['sleep', '1000'])
    await box.client.answer(type.started, id)
    fill(tree, 1)
    const fine = await shell(box.client, 'sleep 0.2; echo within the limit')
    expect(fine).toMatchObject({ stdout: 'within the limit\n', exit: { x: '0' } })
    fill(tree, 3)
    const { exit } = await finished(box.client, id)
    expect(exit).toMatchObject({ s: '9', Q: '' })
    expect(await box.ended).toBe(0)
    expect(processesWith(mark)).toEqual([])
    expect(readFileSync(join(box.folder, 'box/over-limit'), 'utf8')).toBe(`${3 * MB}\n`)
  })

  test('a kept command that nobody waits for says why, too', async () => {
    const { tree, spec } = limited(1)
    const kept = join(dirname(tree), 'kept')
    mkdirSync(kept, { mode: 0o700 })
    const box = await startBox({ level, spec })
    const id = exec(
      box.client,
      ['sleep', '1000'],
      [
        ['K', kept],
        ['r', ''],
      ],
    )
    await box.client.answer(type.started, id)
    box.client.socket.destroy()
    fill(tree, 2)
    expect(await box.ended).toBe(0)
    expect(readTags(readFileSync(join(kept, 'end')))).toMatchObject({ s: '9', Q: '' })
  })

  test('goes on when the limit is raised, or taken away', async () => {
    const { tree, spec } = limited(2)
    const box = await startBox({ level, spec })
    const limit = async (bytes: number): Promise<void> => {
      const id = nextId()
      box.client.send(type.sizeLimit, id, tags([['Q', bytes]]))
      await box.client.answer(type.ok, id)
    }
    await limit(4 * MB)
    fill(tree, 3)
    expect(await shell(box.client, 'sleep 0.2; echo on')).toMatchObject({ stdout: 'on\n' })
    await limit(0)
    fill(tree, 5)
    expect(await shell(box.client, 'sleep 0.2; echo on')).toMatchObject({ stdout: 'on\n' })
    await limit(4 * MB)
    expect(await box.ended).toBe(0)
  })
})

test('a file counts once whatever its names, a hole counts as it reads, and links lead nowhere', async () => {
  const { tree, spec } = limited(2)
  fill(tree, 1)
  const outside = join(dirname(tree), 'outside')
  mkdirSync(outside)
  fill(tree, 1)
  writeFileSync(join(outside, 'large'), Buffer.alloc(4 * MB))
  const box = await startBox({ spec })
  const script = `cd ${tree}; ln deep/er/file one; ln deep/er/file two; ln -s ${outside} away; ln -s ${outside}/large big; sleep 0.2; echo on`
  expect(await shell(box.client, script)).toMatchObject({ stdout: 'on\n' })
  writeFileSync(join(tree, 'hole'), '')
  truncateSync(join(tree, 'hole'), 2 * MB)
  writeFileSync(join(tree, 'more'), Buffer.alloc(4096))
  await until(() => existsSync(join(box.folder, 'box/over-limit')), 'it is noticed')
  expect(await box.ended).toBe(0)
})

test('a file below more directories than can be open at once is found', async () => {
  const { tree, spec } = limited(2)
  deepTrees.push(tree)
  const box = await startBox({ spec })
  execFileSync(compiled('deep'), [tree, '40000', String(3 * MB)])
  expect(await box.ended).toBe(0)
  expect(Number(readFileSync(join(box.folder, 'box/over-limit'), 'utf8'))).toBeGreaterThan(2 * MB)
})

test('a box whose tree cannot be measured ends as one over its limit, and its log says why', async () => {
  const { tree, spec } = limited(2)
  mkdirSync(join(tree, 'd/'.repeat(60)), { recursive: true })
  const box = await startBox({ spec })
  const id = exec(box.client, ['sleep', '1000'])
  await box.client.answer(type.started, id)
  // Enough for the supervisor, but not for the walk.
  execFileSync('prlimit', [`--pid=${box.pid}`, '--nofile=16:16'])
  writeFileSync(join(tree, 'file'), Buffer.alloc(4096))
  expect((await finished(box.client, id)).exit).toMatchObject({ s: '9', Q: '' })
  expect(await box.ended).toBe(0)
  expect(readFileSync(join(box.folder, 'box/over-limit'), 'utf8')).toBe('')
  expect(box.log()).toContain('cannot measure the tree: the limit of 16 open files (ulimit -n) is too low')
})

test('what is asked for in part is refused', async () => {
  await expect(startBox({ spec: [['Q', 5]] })).rejects.toThrow('a size limit needs q, Q and I')
})
