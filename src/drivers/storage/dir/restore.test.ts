import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTree, readTree, type Tree } from '../../../../test/support/tree.ts'
import { freeze } from './snapshot.ts'
import { verifyFrozen } from './store/inspect.ts'
import { restoreVolume, resumeRestore } from './restore.ts'
import { openStore, type Store } from './store/store.ts'

let root: string
let store: Store
const volume = (name = ''): string => join(root, 'volume', name)
const snapshot = (name: string): string => join(root, 'snapshots', name)

const wanted: Tree = {
  a: { kind: 'file', content: 'one', mode: 0o644, mtime: 1000 },
  d: { kind: 'directory', mode: 0o500, mtime: 2000 },
  'd/in': { kind: 'file', content: 'deep', mode: 0o400, mtime: 3000 },
  'd/twin': { kind: 'hardlink', to: 'a' },
  l: { kind: 'symlink', target: 'a' },
  same: { kind: 'file', content: 'same', mode: 0o644, mtime: 4000 },
}

function wreck(): void {
  fs.writeFileSync(volume('a'), 'other content')
  fs.chmodSync(volume('d'), 0o755)
  fs.rmSync(volume('d/in'))
  fs.mkdirSync(volume('d/in'))
  fs.writeFileSync(volume('d/in/new'), 'new')
  fs.rmSync(volume('l'))
  fs.writeFileSync(volume('l'), 'was a link')
}

const files = () => ({ volume: volume(), to: snapshot('to'), keep: snapshot('keep') })

beforeEach(async () => {
  root = fs.mkdtempSync(join(tmpdir(), 'aw-restore-'))
  fs.mkdirSync(volume())
  fs.mkdirSync(join(root, 'snapshots'))
  makeTree(volume(), wanted)
  store = openStore(root)
  await freeze(store, volume(), snapshot('to'))
  wreck()
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

test('what is equal stays the same file', async () => {
  const { ino } = fs.statSync(volume('same'))
  await restoreVolume(store, files(), {})
  expect(readTree(volume(), { times: true })).toEqual(wanted)
  expect(fs.statSync(volume('same')).ino).toBe(ino)
})

test('asked again after it was finished, it says so and drops nothing', async () => {
  const told = await restoreVolume(store, files(), {})
  expect(await resumeRestore(store, { ...files(), resume: snapshot('resume') }, {})).toEqual(told)
  expect(fs.readdirSync(join(root, 'snapshots'))).toEqual(['keep', 'to'])
})

test.each(['atomic', 'fuzzy'] as const)('what was found in between and is %s is told so', async (consistency) => {
  const resume = snapshot('resume')
  await restoreVolume(store, files(), {})
  const journal = store.journalFile(volume())
  fs.writeFileSync(journal, fs.readFileSync(journal, 'utf8').replace('"done":true', '"done":false'))
  if (consistency === 'fuzzy') await whileTouched(volume('same'), () => freezeFuzzy(resume))
  const told = await resumeRestore(store, { ...files(), resume }, {})
  expect(told).toMatchObject({ consistency: 'atomic', resumed: { consistency, changed: null } })
  expect(await resumeRestore(store, { ...files(), resume }, {})).toEqual(told)
})

async function freezeFuzzy(file: string): Promise<void> {
  while ((await freeze(store, volume(), file)).consistency === 'atomic') fs.rmSync(file)
}

async function whileTouched(file: string, act: () => Promise<unknown>): Promise<void> {
  const { mtime } = fs.statSync(file)
  const code = `for (let n = 0; ; n++) require('node:fs').utimesSync(${JSON.stringify(file)}, n, n)`
  const writer = new Worker(code, { eval: true })
  await once(writer, 'online')
  try {
    await act()
  } finally {
    await writer.terminate()
  }
  fs.utimesSync(file, mtime, mtime)
}

test('a restore of another state is none of its business', async () => {
  await restoreVolume(store, files(), {})
  const other = { ...files(), keep: snapshot('other'), resume: snapshot('resume') }
  expect(await resumeRestore(store, other, {})).toBeUndefined()
})

test(
  'killed before any of its steps, it is either not begun or finished by the next',
  { timeout: 60_000 },
  async () => {
    const seen = new Set<string>()
    const program = `
    import { openStore } from ${JSON.stringify(join(import.meta.dirname, 'store/store.ts'))}
    import { restoreVolume } from ${JSON.stringify(join(import.meta.dirname, 'restore.ts'))}
    await restoreVolume(openStore(${JSON.stringify(root)}), ${JSON.stringify(files())}, {})`
    for (let step = 2; ; step += 5) {
      const env = { ...process.env, AW_CRASH_AT: String(step) }
      const run = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
        env,
        encoding: 'utf8',
      })
      if (run.signal !== 'SIGKILL') {
        expect([run.status, run.stderr]).toEqual([0, ''])
        break
      }
      const finished = await resumeRestore(store, { ...files(), resume: snapshot('resume') }, {})
      seen.add(finished === undefined ? 'not begun' : 'finished')
      if (finished !== undefined) expect(readTree(volume(), { times: true })).toEqual(wanted)
      for (const name of ['to', 'keep', 'resume'])
        expect((await verifyFrozen(store, snapshot(name)))?.problems ?? []).toEqual([])
      for (const name of ['keep', 'resume']) fs.rmSync(snapshot(name), { force: true })
      if (finished !== undefined) wreck()
    }
    expect([...seen].toSorted()).toEqual(['finished', 'not begun'])
  },
)
