import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { gitRepositories } from '../../../src/drivers/repositories/git.ts'
import { openAw } from '../../../src/index.ts'
import type { Repositories } from '../../../src/ports/repositories.ts'
import { tryLock } from '../../../src/sys/locks/lock.ts'
import { startProgram } from '../../support/program.ts'
import { addCommit, makePlace, makeSource, treeIn, type Place } from './fixture.ts'
import { serveHttps, type HttpsServer } from './servers.ts'

let place: Place
let repositories: Repositories
let source: string
let server: HttpsServer
let url: string

beforeEach(async () => {
  place = makePlace()
  repositories = gitRepositories({ root: place.path('mirrors'), avoid: [] })
  source = makeSource(place, 'served/widget', { a: '1', 'dir/b': '2' }, { c: '3' })
  server = await serveHttps(place, { directory: place.path('served') })
  place.configure('http.sslCAInfo', server.certificate)
  url = `${server.site}/widget`
})
afterEach(() => place[Symbol.asyncDispose]())

const content = { a: '1', 'dir/b': '2', c: '3' }
const fetches = (): number => server.count(/^POST .*git-upload-pack/)
const mirrors = (): string[] => fs.readdirSync(place.path('mirrors')).filter((name) => /-(?:shallow|full)$/.test(name))

async function clone(shallow: boolean, ref: string | null = null): Promise<string> {
  const resolved = await repositories.resolve({ url, ref })
  const into = place.empty()
  await repositories.clone({ url, resolved, shallow, into })
  expectWhole(into)
  return into
}

function expectWhole(into: string): void {
  expect(place.git(into, 'status', '--porcelain')).toBe('')
  expect(place.git(into, 'fsck', '--full', '--strict', '--no-dangling')).toBe('')
}

describe('at the same time', () => {
  test('a hundred clones in one process: one fetch, and all succeed', async () => {
    const resolved = await repositories.resolve({ url, ref: null })
    const before = fetches()
    const targets = Array.from({ length: 100 }, () => place.empty())
    await Promise.all(targets.map((into) => repositories.clone({ url, resolved, shallow: true, into })))
    for (const into of targets) expect(treeIn(into)).toEqual(content)
    // One exchange of refs and one of objects.
    expect(fetches() - before).toBeLessThanOrEqual(2)
  })

  test.each(['true', 'false'])('nine processes, each with several (without history: %s)', async (shallow) => {
    const targets = Array.from({ length: 9 }, () => [place.empty(), place.empty()])
    const programs = targets.map((into) =>
      startProgram('git-clone.ts', [place.path('mirrors'), url, '-', shallow, ...into]),
    )
    const ends = await Promise.all(programs.map(({ ended }) => ended))
    expect(ends.map(({ stderr }) => stderr).join('')).toBe('')
    const refs = shallow === 'true' ? {} : { refs: expect.any(String) as unknown }
    const made = { branch: 'main', files: 3, bytes: 3, submodules: [], lfs: 0, ...refs }
    for (const { lines } of programs) expect(JSON.parse(lines.join(''))).toEqual([made, made])
    for (const into of targets.flat()) expect(treeIn(into)).toEqual(content)
    expect(mirrors()).toHaveLength(1)
  })
})

describe('a mirror', () => {
  test('is not asked for twice', async () => {
    for (const shallow of [true, false]) {
      await clone(shallow)
      const before = fetches()
      const resolved = await repositories.resolve({ url, ref: null })
      const asked = fetches() - before
      await repositories.clone({ url, resolved, shallow, into: place.empty() })
      expect(fetches() - before).toBe(asked)
    }
  })

  test('has the branches and tags of now when all are wanted, and what came is told', async () => {
    const all = async () => {
      const resolved = await repositories.resolve({ url, ref: null, all: true })
      const into = place.empty()
      const { refs } = await repositories.clone({ url, resolved, fresh: true, shallow: false, into })
      expectWhole(into)
      return { into, resolved, refs }
    }
    const shown = (into: string): string =>
      place.git(into, 'for-each-ref', '--format=%(objecttype) %(refname)', 'refs/remotes', 'refs/tags')
    place.git(source, 'branch', 'old')
    const before = await all()
    expect(before.refs).toBe(before.resolved.refs)
    place.git(source, 'branch', '-D', 'old')
    place.git(source, 'branch', 'neu/ü')
    place.git(source, 'tag', '-a', 'v1', '-m', 'v1')
    const after = await all()
    expect(after.resolved.commit).toBe(before.resolved.commit)
    expect(after.refs).toBe(after.resolved.refs)
    expect(
      shown(after.into)
        .split('\n')
        .filter((line) => !line.endsWith('/HEAD')),
    ).toEqual(['commit refs/remotes/origin/main', 'commit refs/remotes/origin/neu/ü', 'tag refs/tags/v1'])
    // Nothing has changed: what is there is taken.
    const asked = fetches()
    await repositories.resolve({ url, ref: null, all: true })
    const resolving = fetches() - asked
    await all()
    expect(fetches() - asked).toBe(2 * resolving)
    // Of what was told long ago the branches and tags may be gone for good; what came is told, not what was asked for.
    const { resolved } = before
    const late = await repositories.clone({ url, resolved, fresh: true, shallow: false, into: place.empty() })
    expect(late.refs).toBe(after.refs)
  })

  test('is renewed for a workspace with all branches, and the log has those that came; not for a reset', async () => {
    await using aw = await openAw({ home: place.path('aw'), set: { 'storage.driver': 'dir' } })
    const shown = ({ path }: { path: string }): string[] =>
      place
        .git(join(path, 'work'), '-c', 'safe.directory=*', 'branch', '--remotes', '--format=%(refname:lstrip=3)')
        .split('\n')
    place.git(source, 'branch', 'old')
    const one = await aw.create({ id: 'one', repo: url, full: true })
    place.git(source, 'branch', '-m', 'old', 'new')
    const two = await aw.create({ id: 'two', repo: url, full: true })
    expect([shown(one), shown(two)]).toEqual([expect.arrayContaining(['old']), expect.arrayContaining(['new'])])
    expect(shown(two)).not.toContain('old')
    expect(two.source['refs']).not.toBe(one.source['refs'])
    const before = fetches()
    const reset = await aw.reset('one')
    expect(fetches()).toBe(before)
    expect(reset.source['refs']).toBe(two.source['refs'])
  })

  test.each([true, false])('brings a tag of a commit that it has (without history: %s)', async (shallow) => {
    await clone(shallow)
    place.git(source, 'tag', '-a', 'v1', '-m', 'v1')
    const resolved = await repositories.resolve({ url, ref: 'v1' })
    const into = place.empty()
    await repositories.clone({ url, resolved, fresh: true, shallow, into })
    expectWhole(into)
    expect(place.git(into, 'cat-file', '-t', 'v1')).toBe('tag')
    // One that is gone since is made of the commit, and asked for once.
    place.git(source, 'tag', '-a', 'v2', '-m', 'v2')
    const gone = await repositories.resolve({ url, ref: 'v2' })
    place.git(source, 'tag', '-d', 'v2')
    const without = place.empty()
    await repositories.clone({ url, resolved: gone, fresh: true, shallow, into: without })
    expectWhole(without)
    expect(place.git(without, 'rev-parse', 'v2')).toBe(gone.commit)
  })

  test('is listed with what it takes and when it was used, and removed unless it is in use', async () => {
    expect(await repositories.list()).toEqual([])
    const before = Date.now() - 1000
    await clone(true)
    const [cached] = await repositories.list()
    expect(cached).toMatchObject({ url, bytes: expect.any(Number) as number })
    expect(cached?.bytes).toBeGreaterThan(100)
    expect(Date.parse(cached?.used_at ?? '')).toBeGreaterThan(before)
    const name = cached?.name ?? ''
    const held = tryLock(place.path(`mirrors/locks/${name}.lock`), { shared: true })
    await expect(repositories.remove(name)).rejects.toMatchObject({ code: 'workspace_busy' })
    held?.[Symbol.dispose]()
    await repositories.remove(name)
    await repositories.remove(name)
    expect(await repositories.list()).toEqual([])
    for (const wrong of ['../x', 'locks', 'empty', '', 'a/b']) {
      await expect(repositories.remove(wrong)).rejects.toMatchObject({ code: 'invalid_input' })
    }
    await clone(true)
  })

  test.each([true, false])('of many small packs is made small again (without history: %s)', async (shallow) => {
    await clone(shallow)
    const packs = (): number => {
      const directory = join(place.path('mirrors'), mirrors()[0] ?? '', 'objects/pack')
      return fs.readdirSync(directory).filter((name) => name.endsWith('.pack')).length
    }
    // As if they had come one by one.
    const mirror = join(place.path('mirrors'), mirrors()[0] ?? '')
    for (let n = 0; n < 24; n++) {
      const input = `${place.git(source, 'rev-parse', n % 2 === 0 ? 'HEAD' : 'HEAD^{tree}')}\n${addBlob(n)}\n`
      const args = ['-C', source, 'pack-objects', '-q', join(mirror, 'objects/pack/pack')]
      expect(spawnSync('git', args, { input }).status).toBe(0)
    }
    expect(packs()).toBeGreaterThanOrEqual(24)
    addCommit(place, source, { d: '4' }, 'more')
    const into = await clone(shallow)
    expect(treeIn(into)).toEqual({ ...content, d: '4' })
    expect(packs()).toBeLessThanOrEqual(2)
  })

  const addBlob = (n: number): string =>
    spawnSync('git', ['-C', source, 'hash-object', '-w', '--stdin'], {
      input: `blob ${n}`,
      encoding: 'utf8',
    }).stdout.trim()

  const damages: Record<string, (mirror: string, pack: string) => void> = {
    'a pack cut short': (_mirror, pack) => fs.truncateSync(pack, 40),
    'a pack of nothing': (_mirror, pack) => fs.truncateSync(pack, 0),
    'no pack': (_mirror, pack) => fs.rmSync(pack),
    'no index of a pack': (_mirror, pack) => fs.rmSync(pack.replace(/pack$/, 'idx')),
    'wrong bytes in a pack': (_mirror, pack) => {
      fs.chmodSync(pack, 0o644)
      const bytes = fs.readFileSync(pack)
      bytes.fill(0x55, 12, bytes.length - 20)
      fs.writeFileSync(pack, bytes)
    },
    'no refs': (mirror) => fs.rmSync(join(mirror, 'packed-refs')),
    'no record': (mirror) => fs.rmSync(join(mirror, 'aw.json')),
    'a record of nothing': (mirror) => fs.truncateSync(join(mirror, 'aw.json'), 0),
    'no HEAD': (mirror) => fs.rmSync(join(mirror, 'HEAD')),
  }
  /** Each of them in one of the two kinds, turn and turn about. */
  const cases = Object.entries(damages).map(([name, damage], index) => ({ name, damage, shallow: index % 2 === 0 }))
  test.each(cases)('with $name is made anew (without history: $shallow)', async ({ damage, shallow }) => {
    await clone(shallow)
    const mirror = join(place.path('mirrors'), mirrors()[0] ?? '')
    const packs = fs.readdirSync(join(mirror, 'objects/pack')).filter((name) => name.endsWith('.pack'))
    expect(packs).toHaveLength(1)
    damage(mirror, join(mirror, 'objects/pack', packs[0] ?? ''))
    expect(treeIn(await clone(shallow))).toEqual(content)
  })
})
