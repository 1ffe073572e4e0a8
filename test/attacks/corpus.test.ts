import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FileHandle } from '../../src/ports/files.ts'
import { openRoot } from '../../src/sys/safe-fs/index.ts'
import { type Attack, corpus } from './corpus.ts'
import { naive } from './naive.ts'
import { makePlace, type Place, secret } from './fixture.ts'
import { codeLater } from './workspace.ts'

/** Everything that can be done with a path. `loot` is where things would end up. */
const operations: Readonly<Record<string, (files: FileHandle, path: string) => unknown>> = {
  read: (files, path) => files.read(path),
  write: (files, path) => files.write(path, 'changed'),
  append: (files, path) => files.append(path, 'changed'),
  open: async (files, path) => {
    using file = files.open(path)
    return await file.read(0, 1000)
  },
  create: async (files, path) => {
    using file = files.create(path)
    await file.write(Buffer.from('changed'))
    return file.finish()
  },
  list: (files, path) => files.list(path),
  tree: (files, path) => files.tree(path),
  stat: (files, path) => files.stat(path),
  'stat of a link': (files, path) => files.stat(path, { follow: false }),
  resolve: (files, path) => files.resolve(path),
  mkdir: (files, path) => files.mkdir(path, { parents: true }),
  'rename from': (files, path) => files.rename(path, 'loot'),
  'rename to': (files, path) => files.rename('d', path, { replace: true, parents: true }),
  'copy from': (files, path) => files.copy(path, 'loot', { recursive: true }),
  'copy to': (files, path) => files.copy('d/file', path, { replace: true, parents: true }),
  remove: (files, path) => files.remove(path, { recursive: true }),
}

interface Outcome {
  readonly code: string
  readonly told: boolean
  readonly changed: boolean
}

async function attempt(attack: Attack, operation: string, resolver: 'openat2' | 'walk'): Promise<Outcome> {
  const place = makePlace()
  try {
    attack.trap?.(place)
    const before = place.guarded()
    const files = openRoot(place.ws, { resolver, protect: ['.aw'] })
    let answer: unknown
    const path = attack.path(place) as string
    const code = await codeLater(async () => (answer = await operations[operation]?.(files, path)))
    files[Symbol.dispose]()
    return { code, told: tells(answer) || tells(loot(place)), changed: place.guarded() !== before }
  } finally {
    place[Symbol.dispose]()
  }
}

/** Content of a guarded file, or a name that only a guarded directory holds. */
const tells = (answer: unknown): boolean =>
  Buffer.isBuffer(answer) ? answer.includes(secret) : /marker|SECRET/.test(JSON.stringify(answer ?? null))

function loot(place: Place): unknown {
  const stats = fs.lstatSync(place.in('loot'), { throwIfNoEntry: false })
  if (stats?.isFile() && stats.size < 1000) return fs.readFileSync(place.in('loot'))
  return stats?.isDirectory() ? fs.readdirSync(place.in('loot')) : null
}

describe.each(Object.entries(corpus))('%s', (_, attacks) => {
  describe.each(attacks.map((attack) => [attack.name, attack] as const))('%s', (_, attack) => {
    test.each(Object.keys(operations))('%s harms nobody, and both resolvers agree', async (operation) => {
      const [kernel, walk] = [await attempt(attack, operation, 'openat2'), await attempt(attack, operation, 'walk')]
      expect(kernel).toEqual(walk)
      expect(kernel.changed).toBe(false)
      expect(kernel.told && !attack.owned).toBe(false)
    })

    test('reading it gets the right answer, in one go and piece by piece', async () => {
      expect((await attempt(attack, 'read', 'openat2')).code).toBe(attack.verdict)
      // The size of what is read is up to whoever takes the pieces.
      const byPieces = attack.verdict === 'file_too_large' ? 'ok' : attack.verdict
      expect((await attempt(attack, 'open', 'openat2')).code).toBe(byPieces)
    })

    test('writing it piece by piece is as writing it in one go', async () => {
      const [whole, pieces] = [await attempt(attack, 'write', 'walk'), await attempt(attack, 'create', 'walk')]
      expect(pieces).toEqual(whole)
    })
  })

  const dangerous = attacks.filter((attack) => attack.naive)

  test('has a case that is dangerous', () => {
    expect(dangerous).not.toHaveLength(0)
  })

  test.each(dangerous.map((attack) => [attack.name, attack] as const))(
    '%s: a naive check falls for it',
    (_, attack) => {
      expect(fallsFor(attack)).toBe(true)
    },
  )
})

test.each(corpus['metadata']?.map((attack) => [attack.name, attack] as const) ?? [])(
  'metadata is not written, %s',
  async (_, attack) => {
    expect((await attempt(attack, 'write', 'walk')).code).toBe('path_protected')
    expect((await attempt(attack, 'append', 'openat2')).code).toBe('path_protected')
    expect((await attempt(attack, 'create', 'openat2')).code).toBe('path_protected')
  },
)

function fallsFor(attack: Attack): boolean {
  if (!attack.naive) return false
  const place = makePlace()
  try {
    attack.trap?.(place)
    return naiveHarm(attack.naive, place, attack.path(place) as string)
  } finally {
    place[Symbol.dispose]()
  }
}

function naiveHarm(way: NonNullable<Attack['naive']>, place: Place, path: string): boolean {
  const before = place.guarded()
  const kind = (): string => String(fs.lstatSync(place.in('x'), { throwIfNoEntry: false })?.isFile())
  const kindBefore = kind()
  if (way.harm === 'hangs') return neverEnds(way, place, path)
  let answer: unknown
  let failed = false
  try {
    answer = naive(way.check, way.operation, place.ws, path)
  } catch {
    failed = true
  }
  const swallowed = Buffer.isBuffer(answer) && answer.length > 64 * 2 ** 20
  return {
    tells: tells(answer),
    changes: place.guarded() !== before,
    swallows: swallowed || kind() !== kindBefore,
    fails: failed,
  }[way.harm]
}

function neverEnds(way: NonNullable<Attack['naive']>, place: Place, path: string): boolean {
  const child = join(import.meta.dirname, 'naive-child.ts')
  const { signal, error } = spawnSync(process.execPath, [child, way.check, way.operation, place.ws, path], {
    timeout: 700,
    killSignal: 'SIGKILL',
  })
  return signal === 'SIGKILL' || error !== undefined
}
