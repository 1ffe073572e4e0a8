/**
 * Repositories and servers that want something run, read or written outside. Whether they get as far as a clone or not,
 * the canary must not appear and what lies beside must stay as it is. Where it says so, plain git is shown to fall for it.
 */
import { execFile, execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { gitRepositories } from '../../../src/drivers/repositories/git.ts'
import type { Repositories } from '../../../src/ports/repositories.ts'
import { addCommit, commitOfTree, makePlace, makeSource, treeIn, type Place, type TreeEntry } from './fixture.ts'
import { serveHttps, type HttpsOptions, type HttpsServer } from './servers.ts'

let place: Place
let repositories: Repositories
let source: string
let victim: string
let canary: string
let runs: string

beforeEach(() => {
  place = makePlace()
  repositories = gitRepositories({ root: place.path('mirrors'), avoid: [] })
  victim = makeSource(place, 'victim', { secret: 'of somebody else' })
  source = makeSource(place, 'served/widget', { 'a.txt': 'one\n' })
  canary = place.path('canary')
  runs = place.path('run.sh')
  fs.writeFileSync(runs, `#!/bin/sh\ntouch '${canary}'\nexit 0\n`, { mode: 0o755 })
})
afterEach(() => place[Symbol.asyncDispose]())

async function serve(options: Partial<HttpsOptions> = {}): Promise<HttpsServer> {
  const server = await serveHttps(place, { directory: place.path('served'), ...options })
  place.configure('http.sslCAInfo', server.certificate)
  return server
}

type Outcome = { readonly into: string } | { readonly code: string; readonly message: string }

/** Clones in both ways. Nothing may have run, and nothing outside may have changed. */
async function attempt(url: string, ref: string | null = null): Promise<Outcome[]> {
  const before = treeIn(victim)
  const outcomes: Outcome[] = []
  for (const shallow of [true, false]) {
    const into = place.empty()
    try {
      const resolved = await repositories.resolve({ url, ref })
      await repositories.clone({ url, resolved, shallow, into })
      outcomes.push({ into })
    } catch (error) {
      const { code, message } = error as { code: string; message: string }
      outcomes.push({ code, message })
    }
    expect(fs.existsSync(canary)).toBe(false)
    expect(fs.existsSync(join(into, '.git/hooks'))).toBe(false)
  }
  expect(treeIn(victim)).toEqual(before)
  return outcomes
}

const refused = expect.objectContaining({ code: 'source_failed' }) as object
const made = { into: expect.any(String) as string }

/** Plain git, as the user; whether the canary appeared. It is taken away again. */
async function plainGitRuns(...args: string[]): Promise<boolean> {
  await promisify(execFile)('git', args, { cwd: place.base }).catch(() => undefined)
  const appeared = fs.existsSync(canary)
  fs.rmSync(canary, { force: true })
  return appeared
}

const gitmodules = (lines: readonly string[]): TreeEntry => ({
  mode: '100644',
  name: '.gitmodules',
  content: `${lines.join('\n')}\n`,
})
const file = (name: string): TreeEntry => ({ mode: '100644', name, content: 'x' })

describe.each(['https', 'path'])('trees, over %s', (way) => {
  const cases: Record<string, { readonly entries: () => TreeEntry[]; readonly outcome: object }> = {
    'a file .git': { entries: () => [file('.git')], outcome: refused },
    'a directory .GIT': { entries: () => [{ mode: '40000', name: '.GIT', id: innerTree() }], outcome: refused },
    'a name that NTFS takes for .git': { entries: () => [file('git~1')], outcome: refused },
    'a name with a space that NTFS does not see': { entries: () => [file('.git ')], outcome: refused },
    'a name that HFS takes for .git': { entries: () => [file('.g\u200cit')], outcome: refused },
    'a name with a stream of NTFS': { entries: () => [file('.git::$INDEX_ALLOCATION')], outcome: refused },
    'the name ..': { entries: () => [{ mode: '40000', name: '..', id: innerTree() }], outcome: refused },
    'a name with a slash': { entries: () => [file('../victim/secret')], outcome: refused },
    'a backslash in a name': { entries: () => [file('..\\victim')], outcome: made },
    'a link and a directory of one name': {
      entries: () => [
        { mode: '120000', name: 'x', content: victim },
        { mode: '40000', name: 'x', id: innerTree() },
      ],
      outcome: expect.anything() as object,
    },
    'a link to the hooks, and a directory that differs in case': {
      entries: () => [
        { mode: '40000', name: 'A', id: innerTree() },
        { mode: '120000', name: 'a', content: '.git/hooks' },
      ],
      outcome: made,
    },
    'a link that leads out': { entries: () => [{ mode: '120000', name: 'out', content: victim }], outcome: made },
    'a link in the place of .gitmodules': {
      entries: () => [{ mode: '120000', name: '.gitmodules', content: victim }],
      outcome: way === 'https' ? refused : (expect.anything() as object),
    },
    'a submodule whose name climbs': {
      entries: () => [gitmodules(['[submodule "../../x"]', 'path = sub', 'url = https://example.com/x']), subModule()],
      outcome: way === 'https' ? refused : made,
    },
    'a submodule whose url is an option': {
      entries: () => [gitmodules(['[submodule "x"]', 'path = sub', `url = -u${runs}`]), subModule()],
      outcome: way === 'https' ? refused : made,
    },
    'a submodule with a carriage return in its path': {
      entries: () => [
        gitmodules(['[submodule "x"]', 'path = "sub\\r"', 'url = ./']),
        { ...subModule(), name: 'sub\r' },
      ],
      outcome: expect.anything() as object,
    },
    'a submodule whose update is a command': {
      entries: () => [gitmodules(['[submodule "x"]', 'path = sub', 'url = ./x', `update = !${runs}`]), subModule()],
      outcome: way === 'https' ? refused : made,
    },
  }

  const innerTree = (): string => {
    const blob = execFileSync('git', ['-C', source, 'hash-object', '-w', runs], { encoding: 'utf8' }).trim()
    const input = `100755 blob ${blob}\tpost-checkout\n`
    return execFileSync('git', ['-C', source, 'mktree'], { input, encoding: 'utf8' }).trim()
  }
  const subModule = (): TreeEntry => ({ mode: '160000', name: 'sub', id: place.git(victim, 'rev-parse', 'HEAD') })

  test.each(Object.entries(cases))('%s', async (_name, { entries, outcome }) => {
    commitOfTree(place, source, entries())
    const url = way === 'https' ? `${(await serve()).site}/widget` : source
    expect(await attempt(url)).toEqual([outcome, outcome])
  })
})

describe('settings of a repository on this machine', () => {
  const settings: Record<string, () => [string, string][]> = {
    'core.fsmonitor': () => [['core.fsmonitor', runs]],
    'core.hooksPath': () => [['core.hooksPath', place.path('hooks')]],
    'a filter': () => [
      ['filter.evil.smudge', runs],
      ['filter.evil.clean', runs],
      ['filter.evil.process', runs],
    ],
    'uploadpack.packObjectsHook': () => [['uploadpack.packObjectsHook', runs]],
    'core.alternateRefsCommand': () => [['core.alternateRefsCommand', runs]],
    'core.worktree': () => [['core.worktree', victim]],
    'an include of something that never ends': () => [['include.path', place.path('fifo')]],
    'a pager, an editor, a signer': () => [
      ['core.pager', runs],
      ['core.editor', runs],
      ['gpg.program', runs],
    ],
  }
  test.each(Object.entries(settings))('%s', async (_name, list) => {
    addCommit(place, source, { '.gitattributes': '* filter=evil diff=evil\n' }, 'attributes')
    execFileSync('mkfifo', [place.path('fifo')])
    plantHooks(place.path('hooks'))
    plantHooks(join(source, '.git/hooks'))
    const text = list().map(([key, value]) => {
      const [section, ...rest] = key.split('.')
      const name = rest.pop()
      return `[${section}${rest.length > 0 ? ` "${rest.join('.')}"` : ''}]\n\t${name} = ${value}\n`
    })
    fs.appendFileSync(join(source, '.git/config'), text.join(''))
    expect(await attempt(source)).toEqual([made, made])
  })

  test('plain git runs what core.fsmonitor says', async () => {
    place.git(source, 'config', 'core.fsmonitor', runs)
    expect(await plainGitRuns('-C', source, 'status')).toBe(true)
  })

  test('a partial clone, whose missing objects would be fetched by a command', async () => {
    const blob = place.git(source, 'rev-parse', 'HEAD:a.txt')
    fs.rmSync(join(source, '.git/objects', blob.slice(0, 2), blob.slice(2)))
    for (const [key, value] of [
      ['core.repositoryformatversion', '1'],
      ['extensions.partialClone', 'origin'],
      ['remote.origin.promisor', 'true'],
      ['remote.origin.url', `ext::${runs}`],
      ['protocol.ext.allow', 'always'],
    ] as const) {
      place.git(source, 'config', key, value)
    }
    expect(await plainGitRuns('-C', source, 'cat-file', '-p', blob)).toBe(true)
    expect(await attempt(source)).toEqual([refused, refused])
  })
})

function plantHooks(directory: string): void {
  fs.mkdirSync(directory, { recursive: true })
  for (const name of ['post-checkout', 'reference-transaction', 'post-index-change', 'pre-auto-gc', 'post-rewrite']) {
    fs.copyFileSync(runs, join(directory, name))
  }
}

describe('a repository on this machine that leads elsewhere', () => {
  const secret = (): string => place.git(victim, 'rev-parse', 'HEAD')
  const pointAtSecret = (): void => fs.writeFileSync(join(source, '.git/refs/heads/main'), `${secret()}\n`)

  const ways: Record<string, () => void> = {
    alternates() {
      pointAtSecret()
      fs.writeFileSync(join(source, '.git/objects/info/alternates'), `${victim}/.git/objects\n`)
    },
    'objects that are a link'() {
      pointAtSecret()
      fs.rmSync(join(source, '.git/objects'), { recursive: true })
      fs.symlinkSync(join(victim, '.git/objects'), join(source, '.git/objects'))
    },
    'a link to single objects'() {
      pointAtSecret()
      for (const name of fs.readdirSync(join(victim, '.git/objects')).filter((name) => name.length === 2)) {
        const from = join(source, '.git/objects', name)
        fs.rmSync(from, { recursive: true, force: true })
        fs.symlinkSync(join(victim, '.git/objects', name), from)
      }
    },
    'links to packs'() {
      pointAtSecret()
      place.git(victim, 'gc', '--quiet')
      for (const name of fs.readdirSync(join(victim, '.git/objects/pack'))) {
        fs.symlinkSync(join(victim, '.git/objects/pack', name), join(source, '.git/objects/pack', name))
      }
    },
    'a .git file'() {
      fs.rmSync(join(source, '.git'), { recursive: true })
      fs.writeFileSync(join(source, '.git'), `gitdir: ${victim}/.git\n`)
    },
    'a .git file that names a work tree of another'() {
      place.git(victim, 'worktree', 'add', '--quiet', '-b', 'side', place.path('side'))
      fs.rmSync(join(source, '.git'), { recursive: true })
      fs.writeFileSync(join(source, '.git'), `gitdir: ${victim}/.git/worktrees/side\n`)
    },
    'a .git that is a link'() {
      fs.rmSync(join(source, '.git'), { recursive: true })
      fs.symlinkSync(join(victim, '.git'), join(source, '.git'))
    },
    'a common directory'() {
      fs.writeFileSync(join(source, '.git/commondir'), `${victim}/.git\n`)
      fs.writeFileSync(join(source, '.git/HEAD'), `${secret()}\n`)
    },
  }
  test.each(Object.entries(ways))('by %s', async (_name, lead) => {
    lead()
    const copy = place.path('plain')
    await promisify(execFile)('git', ['clone', '--quiet', '--no-local', source, copy])
    expect(fs.readFileSync(join(copy, 'secret'), 'utf8')).toBe('of somebody else')
    expect(await attempt(source)).toEqual([refused, refused])
  })

  test('by refs that are links', async () => {
    fs.rmSync(join(source, '.git/refs'), { recursive: true })
    fs.symlinkSync(join(victim, '.git/refs'), join(source, '.git/refs'))
    expect(await attempt(source)).toEqual([refused, refused])
  })

  test.each([
    'HEAD',
    'packed-refs',
    'refs/heads/main',
    'objects/info/alternates',
    'shallow',
    'objects/pack/pack-0000000000000000000000000000000000000000.idx',
  ])('by a pipe at %s, which nobody waits for', async (name) => {
    const path = join(source, '.git', name)
    fs.rmSync(path, { force: true })
    execFileSync('mkfifo', [path])
    fs.writeFileSync(join(source, '.git/objects/pack/pack-0000000000000000000000000000000000000000.pack'), 'x')
    expect(await attempt(source)).toEqual([refused, refused])
  })
})

describe('settings of the user are for getting in, and nothing else', () => {
  test('templates with hooks, a path of hooks, filters', async () => {
    plantHooks(place.path('template/hooks'))
    plantHooks(place.path('hooks'))
    addCommit(place, source, { '.gitattributes': '* filter=evil\n' }, 'attributes')
    const { site } = await serve()
    const url = `${site}/widget`
    place.configure('init.templateDir', place.path('template'))
    expect(await plainGitRuns('clone', '--quiet', url, place.path('plain-1'))).toBe(true)
    place.configure('core.hooksPath', place.path('hooks'))
    expect(await plainGitRuns('clone', '--quiet', '--template=', url, place.path('plain-2'))).toBe(true)
    place.configure('filter.evil.smudge', runs)
    expect(
      await plainGitRuns(
        '-c',
        'core.hooksPath=/dev/null',
        'clone',
        '--quiet',
        '--template=',
        url,
        place.path('plain-3'),
      ),
    ).toBe(true)
    expect(await attempt(url)).toEqual([made, made])
    expect(await attempt(source)).toEqual([made, made])
  })

  test('no url becomes a command, whatever is allowed', async () => {
    place.configure('protocol.ext.allow', 'always')
    place.configure('protocol.file.allow', 'always')
    place.configure(`url.ext::${runs} .insteadOf`, 'https://example.invalid/')
    expect(await plainGitRuns('ls-remote', 'https://example.invalid/x')).toBe(true)
    expect(await attempt('https://example.invalid/x')).toEqual([refused, refused])
  })

  test('variables that tell git what to work on', async () => {
    const names = [
      'GIT_DIR',
      'GIT_WORK_TREE',
      'GIT_OBJECT_DIRECTORY',
      'GIT_INDEX_FILE',
      'GIT_TEMPLATE_DIR',
      'GIT_EXTERNAL_DIFF',
    ]
    for (const name of names) process.env[name] = join(victim, '.git')
    try {
      const { site } = await serve()
      expect(await attempt(`${site}/widget`)).toEqual([made, made])
    } finally {
      for (const name of names) delete process.env[name]
    }
  })
})

describe('a server', () => {
  test.each(['file:///', 'ext::', 'http://127.0.0.1:1/', 'ftp://127.0.0.1/', 'git://127.0.0.1/'])(
    'that leads to %s',
    async (start) => {
      const to = start === 'ext::' ? `ext::${runs}` : start === 'file:///' ? `file://${victim}` : `${start}x`
      const { site } = await serve({
        answer: (request, response) => {
          response.writeHead(302, { location: `${to}${start === 'ext::' ? '' : request.url}` }).end()
          return true
        },
      })
      expect(await attempt(`${site}/widget`)).toEqual([refused, refused])
    },
  )

  test('that leads to another does not make us tell it the password', async () => {
    const heard: string[] = []
    const other = await serveHttps(place, {
      directory: place.path('served'),
      answer: (request, response) => {
        heard.push(String(request.headers.authorization))
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
        return true
      },
    })
    fs.renameSync(other.certificate, place.path('other.pem'))
    const { site, certificate } = await serve({
      answer: (request, response) => {
        response.writeHead(302, { location: `${other.site}${request.url}` }).end()
        return true
      },
    })
    fs.appendFileSync(certificate, fs.readFileSync(place.path('other.pem')))
    const url = site.replace('https://', 'https://me:pass-word@')
    expect(await attempt(`${url}/widget`)).toEqual([refused, refused])
    expect(heard.length).toBeGreaterThan(0)
    expect(new Set(heard)).toEqual(new Set(['undefined']))
  })

  test('with names that no file can have', async () => {
    const commit = place.git(source, 'rev-parse', 'HEAD')
    const { site } = await serve()
    const long = 'x'.repeat(900)
    fs.writeFileSync(join(source, '.git/packed-refs'), `${commit} refs/heads/${long}\n`)
    expect(await attempt(`${site}/widget`)).toEqual([made, made])
    const later = addCommit(place, source, { b: '2' }, 'later')
    fs.writeFileSync(
      join(source, '.git/packed-refs'),
      `${later} refs/heads/${long}\n${later} refs/heads/${'y'.repeat(5000)}\n`,
    )
    const [, whole] = await attempt(`${site}/widget`)
    expect(place.git((whole as { into: string }).into, 'rev-parse', 'origin/main', 'HEAD')).toBe(`${later}\n${later}`)
    const wrong = expect.objectContaining({ code: 'invalid_input' }) as object
    expect(await attempt(`${site}/widget`, long)).toEqual([wrong, wrong])
  })
})
