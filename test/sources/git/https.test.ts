import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AwError } from '../../../src/domain/errors.ts'
import { gitRepositories } from '../../../src/drivers/repositories/git.ts'
import type { CloneProgress, Repositories } from '../../../src/ports/repositories.ts'
import { addCommit, makePlace, makeSource, treeIn, type Place } from './fixture.ts'
import { serveHttps, type HttpsOptions, type HttpsServer } from './servers.ts'

let place: Place
let repositories: Repositories
let source: string
let first: string

beforeEach(() => {
  place = makePlace()
  repositories = gitRepositories({ root: place.path('mirrors'), avoid: [] })
  source = makeSource(place, 'served/widget', { 'a.txt': 'one\n', 'dir/b.txt': 'two\n' }, { 'a.txt': 'three\n' })
  first = place.git(source, 'rev-parse', 'HEAD~1')
})
afterEach(() => place[Symbol.asyncDispose]())

async function serve(options: Partial<HttpsOptions> = {}): Promise<HttpsServer> {
  const server = await serveHttps(place, { directory: place.path('served'), ...options })
  place.configure('http.sslCAInfo', server.certificate)
  return server
}

async function clone(url: string, ref: string | null, shallow: boolean, onProgress?: (done: CloneProgress) => void) {
  const resolved = await repositories.resolve({ url, ref })
  const into = place.empty()
  const cloned = await repositories.clone({ url, resolved, shallow, into, onProgress })
  return { into, cloned, resolved, git: (...args: string[]) => place.git(into, ...args) }
}

/** What every clone has to be. */
function expectOwn({ into, git }: { into: string; git: (...args: string[]) => string }): void {
  expect(git('status', '--porcelain')).toBe('')
  expect(git('fsck', '--full', '--strict', '--no-dangling')).toBe('')
  const names = fs.readdirSync(join(into, '.git'), { recursive: true, encoding: 'utf8' })
  expect(names.filter((name) => /alternates|hooks|FETCH_HEAD|\.lock$|^stage/.test(name))).toEqual([])
  for (const name of names)
    expect(
      fs.lstatSync(join(into, '.git', name)).nlink === 1 || fs.statSync(join(into, '.git', name)).isDirectory(),
    ).toBe(true)
}

describe('a branch', () => {
  test('with its history: all branches and tags, and the branch follows that of origin', async () => {
    place.git(source, 'branch', 'feature/x', first)
    place.git(source, 'tag', '-a', 'v1', '-m', 'v1')
    const { site } = await serve()
    const url = `${site}/widget/.git`
    const made = await clone(url, null, false)
    expect(made.resolved).toEqual({ url, commit: place.git(source, 'rev-parse', 'main'), ref: 'refs/heads/main' })
    expect(made.cloned).toEqual({
      branch: 'main',
      files: 2,
      bytes: 10,
      submodules: [],
      lfs: 0,
      refs: expect.any(String) as unknown,
    })
    expect(treeIn(made.into)).toEqual({ 'a.txt': 'three\n', 'dir/b.txt': 'two\n' })
    expect(made.git('log', '--format=%s')).toBe('commit 2\ncommit 1')
    expect(made.git('for-each-ref', '--format=%(refname)').split('\n')).toEqual([
      'refs/heads/main',
      'refs/remotes/origin/HEAD',
      'refs/remotes/origin/feature/x',
      'refs/remotes/origin/main',
      'refs/tags/v1',
    ])
    expect(made.git('config', 'remote.origin.url')).toBe(url)
    expect(made.git('rev-parse', '--abbrev-ref', 'main@{upstream}')).toBe('origin/main')
    expect(made.git('cat-file', '-t', 'v1')).toBe('tag')
    expectOwn(made)
  })

  test('without its history', async () => {
    const { site } = await serve()
    const made = await clone(`${site}/widget`, 'main', true)
    expect(made.git('log', '--format=%s')).toBe('commit 2')
    expect(made.git('rev-parse', '--is-shallow-repository')).toBe('true')
    expect(made.git('config', 'remote.origin.fetch')).toBe('+refs/heads/main:refs/remotes/origin/main')
    expectOwn(made)
    // Its history can be had later, by whoever works there.
    await promisify(execFile)('git', ['-C', made.into, 'fetch', '--quiet', '--unshallow'])
    expect(made.git('log', '--format=%s')).toBe('commit 2\ncommit 1')
  })

  test('that moved is fetched anew', async () => {
    const server = await serve()
    for (const shallow of [true, false]) {
      await clone(`${server.site}/widget`, 'main', shallow)
      const commit = addCommit(place, source, { 'new.txt': `${shallow}` }, 'later')
      const made = await clone(`${server.site}/widget`, 'main', shallow)
      expect(made.git('rev-parse', 'HEAD')).toBe(commit)
      expect(treeIn(made.into)).toMatchObject({ 'new.txt': `${shallow}`, 'dir/b.txt': 'two\n' })
      expectOwn(made)
    }
    expect((await repositories.list()).map(({ name }) => name.replace(/-[0-9a-f]{20}-/, '-'))).toEqual([
      'widget-full',
      'widget-shallow',
    ])
  })
})

describe('a tag', () => {
  test.each([true, false])('is itself in the clone (without history: %s)', async (shallow) => {
    place.git(source, 'tag', '-a', 'v1', '-m', 'v1', first)
    addCommit(place, source, { c: '3' }, 'third')
    const { site } = await serve()
    const made = await clone(`${site}/widget`, 'v1', shallow)
    expect(made.resolved).toMatchObject({ commit: first, ref: 'refs/tags/v1' })
    expect(made.cloned.branch).toBeNull()
    expect(made.git('describe')).toBe('v1')
    expect(made.git('rev-parse', 'HEAD')).toBe(first)
    expectOwn(made)
  })
})

describe('a commit', () => {
  test.each([true, false])('by its id (without history: %s)', async (shallow) => {
    const { site } = await serve()
    const made = await clone(`${site}/widget`, first, shallow)
    expect(made.cloned.branch).toBeNull()
    expect(made.git('rev-parse', 'HEAD')).toBe(first)
    expect(treeIn(made.into)['a.txt']).toBe('one\n')
    expectOwn(made)
  })

  test('that the server does not give by itself comes out of the whole history, and that is told', async () => {
    const { site } = await serve({ newProtocol: false })
    const told: CloneProgress[] = []
    const made = await clone(`${site}/widget`, first, true, (done) => told.push(done))
    expect(told.map(({ note }) => note).filter(Boolean)).toEqual([expect.stringContaining('without its history')])
    expect(made.git('log', '--format=%s')).toBe('commit 1')
    expectOwn(made)
    // What is in the cache with its history serves without it too.
    const again = await clone(`${site}/widget`, 'main', true)
    expect(again.git('log', '--format=%s')).toBe('commit 2')
    expect(await repositories.list()).toHaveLength(1)
  })

  test('that no branch leads to', async () => {
    const hidden = addCommit(place, source, { h: 'hidden' }, 'hidden')
    place.git(source, 'reset', '--quiet', '--hard', first)
    const { site } = await serve()
    const made = await clone(`${site}/widget`, hidden, false)
    expect(treeIn(made.into)['h']).toBe('hidden')
    expectOwn(made)
  })

  test.each([true, false])('that is none is told, and the cache stays (new protocol: %s)', async (newProtocol) => {
    place.git(source, 'tag', '-a', 'v1', '-m', 'v1', first)
    const others = ['HEAD^{tree}', 'v1', 'HEAD:a.txt'].map((name) => place.git(source, 'rev-parse', name))
    const { site } = await serve({ newProtocol })
    const inodes = (): number[] =>
      fs
        .readdirSync(place.path('mirrors'))
        .filter((name) => /-(?:shallow|full)$/.test(name))
        .map((name) => fs.statSync(join(place.path('mirrors'), name)).ino)
    for (const shallow of [true, false]) await clone(`${site}/widget`, null, shallow)
    const before = inodes()
    for (const id of [...others, '0'.repeat(40), '0123456789012345678901234567890123456789']) {
      const told = { code: 'source_failed', message: `${site}/widget: there is no commit ${id}` }
      for (const shallow of [true, false])
        await expect(clone(`${site}/widget`, id, shallow)).rejects.toMatchObject(told)
    }
    expect(inodes()).toEqual(before)
  })
})

describe('a private repository', () => {
  const password = { user: 'me', password: 'correct horse:battery' }

  test('opens with the helper that the user has', async () => {
    const { site } = await serve({ password })
    place.configure('credential.helper', `!f() { printf 'username=me\\npassword=correct horse:battery\\n'; }; f`)
    expectOwn(await clone(`${site}/widget`, null, true))
  })

  test('opens with what is in the url, which is kept nowhere and seen by nobody', async () => {
    const { site } = await serve({ password })
    place.configure('credential.helper', `store --file ${place.path('stored')}`)
    const host = site.slice('https://'.length)
    const url = `https://me:correct%20horse%3Abattery@${host}/widget`
    const commands = watchCommands()
    const made = await clone(url, null, false)
    expect(made.resolved.url).toBe(`${site}/widget`)
    expectOwn(made)
    expect(commands.stop().join('\n')).not.toContain('battery')
    for (const directory of [place.path('mirrors'), made.into]) {
      for (const name of fs.readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
        const path = join(directory, name)
        if (fs.statSync(path).isFile()) expect(fs.readFileSync(path, 'latin1')).not.toContain('battery')
      }
    }
    expect(fs.existsSync(place.path('stored'))).toBe(false)
  })

  test('stays shut without a way in, and nothing asks for one', async () => {
    const { site } = await serve({ password })
    const host = site.slice('https://'.length)
    for (const url of [
      `${site}/widget`,
      `https://me:wrong-secret@${host}/widget`,
      `https://wrong-secret@${host}/widget`,
    ]) {
      const error = await repositories.resolve({ url, ref: null }).catch((error: unknown) => error)
      expect(error).toMatchObject({
        code: 'source_failed',
        hint: expect.stringContaining('private repository') as string,
      })
      expect(JSON.stringify(error) + String((error as Error).cause)).not.toContain('wrong-secret')
    }
  })
})

test.each(['s3cr3t-token:x-oauth-basic', 'x-access-token:s3cr3t-token', 's3cr3t-token:', 's3cr3t%20token:p%40ss-word'])(
  'a server that repeats %s brings neither part into an error',
  async (userinfo) => {
    const { site } = await serve({
      answer({ headers: { authorization } }, response) {
        if (authorization === undefined) return false
        const sent = Buffer.from(authorization.slice('Basic '.length), 'base64').toString()
        const line = `ERR no entry for ${sent}, ${encodeURIComponent(sent)}, ${sent.toUpperCase()}, ${authorization}\n`
        const packet = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
        response.end(`${packet('# service=git-upload-pack\n')}0000${packet(line)}`)
        return true
      },
      password: { user: 'nobody', password: 'has this' },
    })
    const url = site.replace('https://', `https://${userinfo}@`)
    const error = await repositories.resolve({ url: `${url}/widget`, ref: null }).catch((error: unknown) => error)
    const { message, data, cause } = error as AwError
    expect(message).toMatch(/no entry for \*{3}/)
    const told = [message, JSON.stringify(data), String(cause)].join(' ')
    expect(told).not.toMatch(/s3cr3t|p(?:@|%40)ss-word|czNjcjN0/i)
  },
)

/** The command lines of all processes that appear meanwhile. */
function watchCommands(): { stop(): string[] } {
  const seen = new Set<string>()
  const timer = setInterval(() => {
    for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        seen.add(fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
      } catch {
        // It has ended.
      }
    }
  }, 5)
  return {
    stop() {
      clearInterval(timer)
      const commands = [...seen]
      expect(commands.some((command) => command.includes('remote-https'))).toBe(true)
      return commands
    },
  }
}

describe('what goes wrong is told in words that help', () => {
  test('a repository that is not there', async () => {
    const { site } = await serve()
    await expect(repositories.resolve({ url: `${site}/missing`, ref: null })).rejects.toMatchObject({
      code: 'source_failed',
      message: expect.stringContaining('not there, or you have no access') as string,
    })
  })

  test('a branch that is not there', async () => {
    const { site } = await serve()
    await expect(repositories.resolve({ url: `${site}/widget`, ref: 'mian' })).rejects.toMatchObject({
      code: 'source_failed',
      hint: 'Did you mean main?',
      data: { known: ['main'] },
    })
  })

  test('a host that nobody is at, and one that is not trusted', async () => {
    const { site } = await serveHttps(place, { directory: place.path('served') })
    await expect(repositories.resolve({ url: `${site}/widget`, ref: null })).rejects.toMatchObject({
      message: expect.stringContaining('not trusted') as string,
    })
    await expect(repositories.resolve({ url: 'https://127.0.0.1:1/x', ref: null })).rejects.toMatchObject({
      message: expect.stringContaining('cannot be reached') as string,
    })
  })

  test('a repository without a commit', async () => {
    makeSource(place, 'served/bare')
    const { site } = await serve()
    await expect(repositories.resolve({ url: `${site}/bare`, ref: null })).rejects.toMatchObject({
      hint: 'Make a first commit in it',
    })
  })
})

test('progress comes with phases, parts of the whole and bytes', async () => {
  addCommit(place, source, Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`f${n}`, 'x'.repeat(n)])), 'many')
  const { site } = await serve()
  const told: CloneProgress[] = []
  await clone(`${site}/widget`, null, false, (done) => told.push(done))
  expect(new Set(told.map(({ phase }) => phase))).toEqual(
    new Set(['counting', 'receiving', 'resolving', 'checking out']),
  )
  expect(told.some(({ phase, percent, bytes }) => phase === 'receiving' && percent === 100 && (bytes ?? 0) > 0)).toBe(
    true,
  )
})

test('who stops waiting stops git, and leaves the cache as it was', async () => {
  let isStuck = (): void => undefined
  const stuck = new Promise<void>((resolve) => (isStuck = resolve))
  let hang = false
  const { site } = await serve({
    answer: (request) => {
      if (!hang || request.method !== 'POST') return false
      isStuck()
      return true
    },
  })
  const url = `${site}/widget`
  await clone(url, null, true)
  const before = fs.readdirSync(place.path('mirrors'), { recursive: true, encoding: 'utf8' }).toSorted()
  addCommit(place, source, { c: '3' }, 'third')
  const resolved = await repositories.resolve({ url, ref: null })
  hang = true
  const stop = new AbortController()
  const stopped = repositories.clone({ url, resolved, shallow: true, into: place.empty(), signal: stop.signal })
  await stuck
  stop.abort()
  await expect(stopped).rejects.toMatchObject({ code: 'aborted' })
  expect(fs.readdirSync(place.path('mirrors'), { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(before)
  const commands = (): string[] =>
    fs
      .readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1')
        } catch {
          return ''
        }
      })
  // Those that git has started are ended with it, and not waited for.
  await expect.poll(() => commands().filter((command) => command.includes(`${site}/widget`))).toEqual([])
  hang = false
  expectOwn(await clone(url, null, true))
})
