import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyProgram } from './helper.ts'
import { copyTree } from './tree.ts'

let base: string
/** Which of the two ways is tried. */
let way: { readonly alone: boolean }
const source = (name = ''): string => join(base, 'source', name)
const copy = (name = ''): string => join(base, 'copy', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-copy-'))
  fs.mkdirSync(source())
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const isRoot = process.getuid?.() === 0
const ordinary = 65534

/** In a process of its own: as an ordinary user, with few open files, or both. Prints what the script returns. */
function elsewhere(script: string, { files = 1024, user = isRoot } = {}): unknown {
  const program = `
    import * as fs from 'node:fs'
    import { copyTree } from ${JSON.stringify(join(import.meta.dirname, 'tree.ts'))}
    const [source, copy, way] = ${JSON.stringify([source(), copy(), way])}
    const told = await (async () => { ${script} })().catch((error) => ({ code: error.code, message: error.message }))
    console.log(JSON.stringify(told))`
  const who = user ? ['setpriv', '--reuid', `${ordinary}`, '--regid', `${ordinary}`, '--clear-groups'] : []
  const node = [process.execPath, '--input-type=module-typescript', '-e', program]
  const run = spawnSync('prlimit', [`--nofile=${files}`, ...who, ...node], { encoding: 'utf8' })
  if (run.stdout === '') throw new Error(run.stderr)
  return JSON.parse(run.stdout)
}

function dig(top: string, name: string, depth: number, atBottom: () => void): void {
  const before = process.cwd()
  process.chdir(top)
  try {
    for (let level = 0; level < depth; level++) {
      fs.mkdirSync(name)
      process.chdir(name)
    }
    atBottom()
  } finally {
    process.chdir(before)
  }
}

test('there is a program for this machine', () => expect(copyProgram()).toBeDefined())

describe.each([
  ['with the program', false],
  ['alone', true],
])('%s', (_, alone) => {
  beforeEach(() => void (way = { alone }))

  describe('a large file', () => {
    const block = Buffer.alloc(8 * 1024 * 1024, 'large ')
    beforeEach(() => {
      for (let count = 0; count < 24; count++) fs.appendFileSync(source('large'), block)
    })

    test('does not keep others from working', async () => {
      let [last, longest] = [performance.now(), 0]
      const timer = setInterval(() => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }, 1)
      let told = 0
      await copyTree(source(), copy(), { ...way, durable: true, onProgress: () => told++ })
      clearInterval(timer)
      expect(told).toBeGreaterThan(0)
      expect(longest).toBeLessThan(1000)
      expect(fs.statSync(copy('large')).size).toBe(24 * block.length)
    })

    test('is given up in the middle when its caller has gone', async () => {
      const gone = new AbortController()
      setImmediate(() => gone.abort())
      await expect(copyTree(source(), copy(), { ...way, signal: gone.signal })).rejects.toThrow(
        expect.objectContaining({ code: 'aborted' }),
      )
    })
  })

  test('a tree that is deeper than a process may have open files', () => {
    dig(source(), 'd', 1300, () => fs.writeFileSync('bottom', 'reached'))
    if (isRoot) execFileSync('chown', ['-R', `${ordinary}`, base])
    expect(elsewhere('return copyTree(source, copy, way)', { files: 256 })).toMatchObject({ files: 1, skipped: [] })
    let bottom = ''
    dig(copy(), 'x', 0, () => {
      for (let level = 0; level < 1300; level++) process.chdir('d')
      bottom = fs.readFileSync('bottom', 'utf8')
    })
    expect(bottom).toBe('reached')
  })

  test('two names of one file, deeper than a path can be long', async () => {
    dig(source(), 'd'.repeat(200), 40, () => {
      fs.writeFileSync('one', 'reached')
      fs.linkSync('one', 'two')
    })
    expect(await copyTree(source(), copy(), way)).toMatchObject({ files: 1, skipped: [] })
    let stat: fs.Stats | undefined
    dig(copy(), 'x', 0, () => {
      for (let level = 0; level < 40; level++) process.chdir('d'.repeat(200))
      stat = fs.statSync('two')
    })
    expect(stat?.nlink).toBe(2)
  })

  test('holes stay holes', async () => {
    fs.writeFileSync(source('sparse'), 'start')
    fs.truncateSync(source('sparse'), 3 * 1024 ** 3)
    const fd = fs.openSync(source('sparse'), 'r+')
    fs.writeSync(fd, 'middle', 1024 ** 3)
    fs.closeSync(fd)
    await copyTree(source(), copy(), way)
    const stat = fs.statSync(copy('sparse'))
    expect(stat.size).toBe(3 * 1024 ** 3)
    expect(stat.blocks * 512).toBeLessThan(4 * 1024 * 1024)
    const found = fs.openSync(copy('sparse'), 'r')
    const bytes = Buffer.alloc(6)
    fs.readSync(found, bytes, 0, 6, 1024 ** 3)
    fs.closeSync(found)
    expect(bytes.toString()).toBe('middle')
  })

  // Only root may mount.
  test.each(isRoot ? ['directory', 'file'] : [])(
    'a %s of the same file system mounted in it is left out',
    async (kind) => {
      const [what, where] = [join(base, 'elsewhere'), source('here')]
      for (const path of [what, where]) {
        if (kind === 'file') fs.writeFileSync(path, 'not yours')
        else fs.mkdirSync(path)
      }
      execFileSync('mount', ['--bind', what, where])
      try {
        const report = await copyTree(source(), copy(), way)
        expect(report).toMatchObject({ files: 0, skipped: [{ path: 'here', reason: 'mount' }] })
        expect(fs.readdirSync(copy())).toEqual([])
      } finally {
        execFileSync('umount', [where])
      }
    },
  )

  describe('the right to act as the owner of a file', () => {
    const modes = { user: 0o4755, group: 0o2755, 'group, not run': 0o2644 }
    const found = (): Record<string, number> =>
      Object.fromEntries(Object.keys(modes).map((name) => [name, fs.statSync(copy(name)).mode & 0o7777]))
    beforeEach(() => {
      for (const [name, mode] of Object.entries(modes)) {
        fs.writeFileSync(source(name), '')
        fs.chmodSync(source(name), mode)
      }
    })

    test.each(isRoot ? [0, 1234] : [])('is not copied from a file of uid %i', async (uid) => {
      for (const [name, mode] of Object.entries(modes)) {
        fs.chownSync(source(name), uid, uid)
        fs.chmodSync(source(name), mode)
      }
      await copyTree(source(), copy(), way)
      expect(found()).toEqual({ user: 0o755, group: 0o755, 'group, not run': 0o2644 })
    })

    test('does not come out of a workspace', async () => {
      await copyTree(source(), copy(), { ...way, outward: true })
      expect(found()).toEqual({ user: 0o755, group: 0o755, 'group, not run': 0o644 })
      const script = `
        await copyTree(source, copy + '/again', { ...way, outward: true })
        return fs.statSync(copy + '/again/user').mode & 0o7777`
      if (isRoot) execFileSync('chown', ['-R', `${ordinary}:${ordinary}`, base])
      for (const [name, mode] of Object.entries(modes)) fs.chmodSync(source(name), mode)
      expect(elsewhere(script)).toBe(0o755)
    })

    test('is kept in a tree of our own', async () => {
      await copyTree(source(), copy(), { ...way, own: true })
      expect(found()).toEqual(modes)
    })

    test('is not copied from somebody else by an ordinary user, and is from their own', () => {
      if (isRoot) {
        fs.chownSync(source('group, not run'), ordinary, ordinary)
        fs.chmodSync(source('group, not run'), 0o4700)
      }
      fs.chmodSync(base, 0o777)
      fs.chmodSync(source(), 0o755)
      elsewhere('return copyTree(source, copy, way)')
      if (isRoot) expect(found()).toEqual({ user: 0o755, group: 0o755, 'group, not run': 0o4700 })
      else expect(found()).toEqual(modes)
    })
  })

  describe('what may not be read', () => {
    const make = `
      fs.mkdirSync(source + '/shut/in', { recursive: true })
      for (const name of ['file', 'shut/file', 'shut/in/file']) fs.writeFileSync(source + '/' + name, name)
      fs.chmodSync(source + '/file', 0)
      fs.chmodSync(source + '/shut/in', 0o200)
      fs.chmodSync(source + '/shut', 0o600)
      const modes = (top) => {
        const told = []
        for (const name of ['shut', 'file', 'shut/in', 'shut/in/file']) {
          told.push(fs.statSync(top + '/' + name).mode & 0o7777)
          fs.chmodSync(top + '/' + name, 0o700)
        }
        return told
      }`
    beforeEach(() => {
      fs.chmodSync(base, 0o777)
      fs.chmodSync(source(), 0o777)
    })

    test('is left out of a copy of a folder, and reported', () => {
      expect(elsewhere(`${make}; return copyTree(source, copy, way)`)).toMatchObject({
        files: 0,
        skipped: [
          { path: 'file', reason: 'unreadable' },
          { path: 'shut/file', reason: 'unreadable' },
          { path: 'shut/in', reason: 'unreadable' },
        ],
      })
    })

    test('is read all the same in a tree of our own, which is left as it was', () => {
      const told = elsewhere(
        `${make}
        const { files, skipped } = await copyTree(source, copy, { ...way, own: true })
        return { files, skipped, source: modes(source), copy: modes(copy) }`,
      ) as Record<string, unknown>
      const modes = [0o600, 0, 0o200, 0o644]
      expect(told).toEqual({ files: 3, skipped: [], source: modes, copy: modes })
    })

    // Only root can make what belongs to somebody else.
    test.each(isRoot ? ['file', 'directory'] : [])('a %s of somebody else ends the copy of our own tree', (kind) => {
      if (kind === 'file') fs.writeFileSync(source('theirs'), '', { mode: 0 })
      else fs.mkdirSync(source('theirs'), { mode: 0 })
      const told = elsewhere(`
        fs.mkdirSync(source + '/a', { mode: 0 })
        const failure = await copyTree(source, copy, { ...way, own: true }).catch((error) => error)
        return { code: failure.code, message: failure.message, mode: fs.statSync(source + '/a').mode & 0o777 }`)
      expect(told).toEqual({ code: 'source_failed', message: expect.stringContaining('theirs') as unknown, mode: 0 })
    })
  })
})
