import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readTree } from '../../../../test/support/tree.ts'
import { applySteps } from './store/apply.ts'
import { freeze } from './snapshot.ts'
import { entryAt, linesByPath, readManifest } from './store/manifest.ts'
import { openObjects } from './store/objects.ts'
import { planOf } from './store/plan.ts'
import { restoreVolume, resumeRestore } from './restore.ts'
import { openStore, type Store } from './store/store.ts'

let base: string
let root: string
let store: Store
const volume = (name = ''): string => join(root, 'volumes', 'v', name)
const snapshot = (name: string): string => join(root, 'snapshots', name)
const files = () => ({ volume: volume(), to: snapshot('to'), keep: snapshot('keep'), resume: snapshot('resume') })
const write = (name: string, content: string): void => fs.writeFileSync(volume(name), content)
const read = (name: string): string => fs.readFileSync(volume(name), 'utf8')
const contentIn = (name: string, path: string): string => {
  const manifest = readManifest(snapshot(name))
  const entry = manifest && entryAt(manifest, path)
  return entry === undefined ? 'missing' : fs.readFileSync(openObjects(root).path(entry.content), 'utf8')
}

beforeEach(async () => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-restore-'))
  root = join(base, 'root')
  fs.mkdirSync(volume(), { recursive: true })
  fs.mkdirSync(join(root, 'snapshots'))
  store = openStore(root)
  for (const name of ['a', 'b', 'c']) write(name, `old ${name}`)
  await freeze(store, volume(), snapshot('to'))
  for (const name of ['a', 'b', 'c']) write(name, `new ${name}`)
  fs.mkdirSync(volume('d'))
  write('d/e', 'new e')
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

/** The steps of a restore, up to each point at which others may act. */
async function stepwise(act: (step: number) => void): Promise<unknown> {
  const { entries } = await freeze(store, volume(), snapshot('keep'))
  const manifest = readManifest(snapshot('to'))
  const wanted = linesByPath(manifest ?? { consistency: 'atomic', lines: [] })
  const top = fs.openSync(volume(), 'r')
  try {
    const steps = applySteps(openObjects(root), top, entries, wanted, planOf(entries, wanted))
    for (let step = 0; !steps.next().done; step++) act(step)
    return undefined
  } catch (error) {
    return error
  } finally {
    fs.closeSync(top)
  }
}

test.each([
  ['a file that is to be replaced', 'c'],
  ['a file where there was none', 'b'],
  ['a file in a directory that is to be removed', 'd/later'],
])('%s, written after it was kept, is not touched', async (_, name) => {
  if (name === 'b') fs.rmSync(volume('b'))
  // By the first step what is in the directory was removed, and nothing else.
  const error = await stepwise((step) => void (step === 0 && write(name, 'written meanwhile')))
  expect(error).toMatchObject({ code: 'workspace_active', data: { path: name.split('/')[0] } })
  expect(read(name)).toBe('written meanwhile')
})

test.each([
  ['missing', (file: string) => fs.rmSync(file)],
  ['cut short', (file: string) => fs.truncateSync(file, 1)],
  ['damaged', (file: string) => fs.writeFileSync(file, 'bad c')],
])('if a content is %s, the volume is what it was and nothing is left to do', async (_, harm) => {
  const manifest = readManifest(snapshot('to'))
  const object = openObjects(root).path((manifest && entryAt(manifest, 'c')?.content) ?? '')
  fs.chmodSync(object, 0o600)
  harm(object)
  const before = readTree(volume(), { times: true })
  const { resume: _resume, ...first } = files()
  await expect(restoreVolume(store, first, {})).rejects.toMatchObject({ data: { reason: 'damaged' } })
  expect(readTree(volume(), { times: true })).toEqual(before)
  expect(fs.readdirSync(join(root, 'journals'))).toEqual([])
  expect(await resumeRestore(store, files(), {})).toBeUndefined()
})

/** A process that restores and is killed when it has changed some of the volume. */
function dieHalfWay(): void {
  const { resume: _, ...first } = files()
  const program = `
    import { openStore } from ${JSON.stringify(join(import.meta.dirname, 'store/store.ts'))}
    import { restoreVolume } from ${JSON.stringify(join(import.meta.dirname, 'restore.ts'))}
    await restoreVolume(openStore(${JSON.stringify(root)}), ${JSON.stringify(first)}, {})`
  for (let step = 30; fs.existsSync(volume('d')); step++) {
    fs.rmSync(snapshot('keep'), { force: true })
    const env = { ...process.env, AW_CRASH_AT: String(step) }
    const run = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], { env })
    expect(run.signal).toBe('SIGKILL')
  }
}

test('what was written after a crash is kept by whoever finishes it', { timeout: 60_000 }, async () => {
  dieHalfWay()
  write('a', 'written since')
  expect(await resumeRestore(store, files(), {})).toMatchObject({ mechanism: 'content store' })
  expect([read('a'), read('b'), read('c')]).toEqual(['old a', 'old b', 'old c'])
  expect(contentIn('resume', 'a')).toBe('written since')
  expect(contentIn('keep', 'a')).toBe('new a')
})

test('what was written after a second crash has no place to be kept, and stays', { timeout: 60_000 }, async () => {
  dieHalfWay()
  await freeze(store, volume(), snapshot('resume'))
  write('a', 'written since')
  await expect(resumeRestore(store, files(), {})).rejects.toMatchObject({ code: 'workspace_active' })
  expect(read('a')).toBe('written since')
})

test('a copy of the root knows what was interrupted', { timeout: 60_000 }, async () => {
  dieHalfWay()
  const copy = join(base, 'copy')
  expect(spawnSync('cp', ['-a', root, copy]).status).toBe(0)
  root = copy
  expect(await resumeRestore(openStore(copy), files(), {})).toMatchObject({ mechanism: 'content store' })
  expect([read('a'), read('b'), contentIn('keep', 'a')]).toEqual(['old a', 'old b', 'new a'])
})

test('what was kept is not dropped if the volume is something else by now', async () => {
  await freeze(store, volume(), snapshot('keep'))
  expect(await resumeRestore(store, files(), {})).toBeUndefined()
  write('a', 'written since')
  await expect(resumeRestore(store, files(), {})).rejects.toMatchObject({ code: 'workspace_active' })
  expect([read('a'), contentIn('keep', 'a')]).toEqual(['written since', 'new a'])
})

const users = process.getuid?.() === 0 ? [65534] : []

test.each(users)('what user %i may not remove makes it go back, and nothing is left of it', (uid) => {
  fs.mkdirSync(volume('d/theirs'))
  write('d/theirs/f', 'theirs')
  fs.chmodSync(base, 0o755)
  expect(spawnSync('chown', ['-R', `${uid}:${uid}`, base]).status).toBe(0)
  expect(spawnSync('chown', ['-R', '0:0', volume('d/theirs')]).status).toBe(0)
  const { resume: _, ...first } = files()
  const program = `
    import { openStore } from ${JSON.stringify(join(import.meta.dirname, 'store/store.ts'))}
    import { restoreVolume, resumeRestore } from ${JSON.stringify(join(import.meta.dirname, 'restore.ts'))}
    const store = openStore(${JSON.stringify(root)})
    const told = await restoreVolume(store, ${JSON.stringify(first)}, {}).catch(({ code }) => code)
    console.log(told, await resumeRestore(store, ${JSON.stringify(files())}, {}))`
  const before = readTree(volume(), { times: true })
  const user = ['--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', process.execPath]
  const run = spawnSync('setpriv', [...user, '--input-type=module-typescript', '-e', program], { encoding: 'utf8' })
  expect([run.stdout, run.stderr]).toEqual(['permission_denied undefined\n', ''])
  expect(readTree(volume(), { times: true })).toEqual(before)
  expect(fs.readdirSync(join(root, 'incoming'))).toEqual([])
})
