import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hardenedEnvironment, hardenedTreeEnvironment, userEnvironment } from './environment.ts'
import { sourceFailure } from './failures.ts'
import { gitProgram, isSafe, parseVersion } from './program.ts'
import { parseProgress, progressReader } from '../../drivers/repositories/git/progress.ts'
import { AwError } from '../../domain/errors.ts'
import { parseGitUrl, type RemoteUrl } from '../../domain/git/url.ts'

let base: string
const path = process.env['PATH']
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-git-'))
})
afterEach(() => {
  process.env['PATH'] = path
  fs.rmSync(base, { recursive: true, force: true })
})

describe('the program', () => {
  test.each(['2.39.4', '2.39.5', '2.40.2', '2.43.7', '2.45.1', '2.46.0', '2.52.0', '3.0.0'])(
    '%s is used',
    (version) => {
      expect(isSafe(parseVersion(`git version ${version}`))).toBe(true)
    },
  )

  test.each(['1.9.5', '2.17.1', '2.38.9', '2.39.3', '2.40.1', '2.41.0', '2.44.0', '2.45.0'])(
    '%s is not',
    async (version) => {
      expect(isSafe(parseVersion(`git version ${version}`))).toBe(false)
      fs.writeFileSync(join(base, 'git'), `#!/bin/sh\necho git version ${version}.windows\n`, { mode: 0o755 })
      process.env['PATH'] = `${base}:${path}`
      await expect(gitProgram([])()).rejects.toMatchObject({
        code: 'source_failed',
        message: expect.stringContaining('too old') as string,
        data: { version },
      })
    },
  )

  test('that is missing is told', async () => {
    process.env['PATH'] = base
    await expect(gitProgram([])()).rejects.toMatchObject({ code: 'source_failed', message: 'git is not installed' })
  })
})

describe('progress', () => {
  test.each([
    ['remote: Enumerating objects: 5, done.', { phase: 'counting', percent: null, bytes: null }],
    ['remote: Counting objects:  50% (5/10)', { phase: 'counting', percent: 50, bytes: null }],
    [
      'Receiving objects:  45% (450/1000), 12.50 MiB | 3.00 MiB/s',
      { phase: 'receiving', percent: 45, bytes: 13_107_200 },
    ],
    [
      'Receiving objects: 100% (3/3), 512 bytes | 512.00 KiB/s, done.',
      { phase: 'receiving', percent: 100, bytes: 512 },
    ],
    ['Resolving deltas: 100% (1/1), done.', { phase: 'resolving', percent: 100, bytes: null }],
    ['Updating files:   7% (7/100)', { phase: 'checking out', percent: 7, bytes: null }],
    ['fatal: 50% (no)', undefined],
    ['remote: Updating files: 100% of your disk', undefined],
  ])('%s', (line, done) => {
    expect(parseProgress(line)).toEqual(done)
  })

  test('comes in pieces and is told once', () => {
    const told: unknown[] = []
    const read = progressReader((done) => told.push(done.percent))
    for (const piece of [
      'Resolving del',
      'tas:  10% (1/10)\rResolving deltas:  10% (1/10)\r',
      'Resolving deltas:  20% (2/10)',
      '\n',
    ])
      read(piece)
    expect(told).toEqual([10, 20])
  })
})

describe('the environment', () => {
  const settingsOf = (env: Record<string, string>): Map<string, string> => {
    const options = { env: { ...env, PATH: path ?? '' }, cwd: '/', encoding: 'utf8' } as const
    const listing = execFileSync('git', ['config', '--list', '--show-scope', '-z'], options).split('\0')
    const pairs = listing.flatMap((entry, index) => (index % 2 === 1 ? [entry.split('\n')] : []))
    return new Map(pairs.map(([key = '', ...value]) => [key, value.join('\n')]))
  }

  test('for what others wrote has nothing of the user in it', () => {
    process.env['AW_TEST_OF_ENVIRONMENT'] = 'x'
    const env = hardenedEnvironment('/nonexistent')
    expect(Object.keys(env).filter((name) => /^(AW|SSH|HTTP)/i.test(name))).toEqual([])
    expect(settingsOf(env).get('core.hookspath')).toBe('/dev/null')
    delete process.env['AW_TEST_OF_ENVIRONMENT']
  })

  test('waits for the disk, but not in a tree that is made durable as a whole', () => {
    const [alone, inTree] = [
      settingsOf(hardenedEnvironment('/nonexistent')),
      settingsOf(hardenedTreeEnvironment('/nonexistent')),
    ]
    expect(inTree.get('core.fsync')).toBe('none')
    inTree.delete('core.fsync')
    expect(inTree).toEqual(alone)
  })

  test('for a remote keeps what the user has set, and has the last word', () => {
    const mine = {
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'http.extraHeader',
      GIT_CONFIG_VALUE_0: 'X: y',
      GIT_CONFIG_KEY_1: 'core.hooksPath',
      GIT_CONFIG_VALUE_1: '/evil',
    }
    Object.assign(process.env, mine)
    try {
      const env = userEnvironment(parseGitUrl('https://example.com/x') as RemoteUrl, undefined, [])
      const settings = settingsOf(env)
      expect(settings.get('http.extraheader')).toBe('X: y')
      expect(settings.get('core.hookspath')).toBe('/dev/null')
      expect(settings.get('transfer.fsckobjects')).toBe('true')
      expect(env).toMatchObject({ GIT_ALLOW_PROTOCOL: 'https:ssh', GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '' })
      expect(env['GIT_SSH_COMMAND']).toContain('BatchMode=yes')
    } finally {
      for (const name of Object.keys(mine)) delete process.env[name]
    }
  })

  test('for a remote finds no helper where agents work, or where it happens to be', () => {
    process.env['PATH'] = `/work/agents/bin:.::bin:/usr/bin:/work/agents`
    const env = userEnvironment(parseGitUrl('https://example.com/x') as RemoteUrl, undefined, ['/work/agents'])
    expect(env['PATH']).toBe('/usr/bin')
  })

  test('leaves the command for ssh to who has chosen one', () => {
    const env = userEnvironment(parseGitUrl('git@example.com:x') as RemoteUrl, 'ssh -i key', [])
    expect(env['GIT_SSH_COMMAND']).toBeUndefined()
  })
})

test.each([
  ['fatal: Could not resolve host: x', 'cannot be reached'],
  ['ssh: connect to host x port 22: Connection refused', 'cannot be reached'],
  ['Host key verification failed.\nfatal: Could not read from remote repository.', 'ssh does not know this host'],
  ["fatal: could not read Username for 'https://x': terminal prompts disabled", 'no access'],
  ["fatal: transport 'ext' not allowed", 'not allowed'],
  ['error: object 12: hasDotgit: contains .git\nfatal: fsck error in packed object', 'git refuses the objects'],
  ['fatal: something else', 'git failed'],
])('%s', (said, why) => {
  const failed = new AwError('aw_command_failed', 'git failed', { data: { message: said } })
  expect(sourceFailure(failed, { url: 'u', secrets: [] })).toMatchObject({
    code: 'source_failed',
    message: expect.stringContaining(why) as string,
    hint: expect.any(String) as string,
  })
})

test('a full disk is told as such, and what is no failure of git stays what it is', () => {
  const full = new AwError('aw_command_failed', 'x', {
    data: { message: 'fatal: write error: No space left on device' },
  })
  expect(sourceFailure(full, { url: 'u', secrets: [] })).toMatchObject({ code: 'disk_full' })
  const other = new AwError('aborted', 'x')
  expect(sourceFailure(other, { url: 'u', secrets: [] })).toBe(other)
})
