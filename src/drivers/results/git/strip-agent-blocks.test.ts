import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { blocksFor, inject } from '../../../domain/workspace/agent-files.ts'
import { findProgram } from '../../../sys/processes/run.ts'
import { openStagingRepository, type StagingRepository } from './staging-repository.ts'
import { stripAgentBlocks } from './strip-agent-blocks.ts'

let base = ''
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-without-'))
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const blocks = blocksFor('ours', ['CLAUDE.md'])
const withBlock = (text: string): Buffer => inject(Buffer.from(text), 'ours')

const started = (): string[] => fs.readFileSync(join(base, 'started'), 'utf8').trim().split('\n')

/** A desk whose git writes down each time that it is started, with what is given to fast-import in it. */
function desk(sha256: boolean, stream: string): { desk: StagingRepository; git: (...args: string[]) => string } {
  const [program, real] = [join(base, 'git'), findProgram('git', []) ?? 'git']
  fs.writeFileSync(program, `#!/bin/sh\necho "$1" >> "${base}/started"\nexec "${real}" "$@"\n`, { mode: 0o755 })
  const made = openStagingRepository({ path: program, version: [2, 45, 1] }, base, {
    target: undefined,
    sha256,
    signal: undefined,
  })
  const options = { env: { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_DIR: made.repository } }
  execFileSync('git', ['fast-import', '--quiet'], { ...options, input: stream })
  return { desk: made, git: (...args) => execFileSync('git', args, { ...options, encoding: 'utf8' }).trim() }
}

const data = (content: string | Buffer): string => {
  const text = content.toString()
  return `data ${Buffer.byteLength(text)}\n${text}\n`
}

const file = (path: string, content: string | Buffer): string => `M 100644 inline ${path}\n${data(content)}`

const commit = (branch: string, message: string, ...lines: string[]): string =>
  `commit refs/heads/${branch}\nmark :${message.length}\nauthor Ä <a@b> 1 +0000\ncommitter Ä <a@b> 2 +0100\n${data(message)}${lines.join('')}\n`

test.each([false, true])(
  'with ids of 64 digits: %s, git is started as often for many commits as for few',
  async (is) => {
    const first = commit('main', '1', file('CLAUDE.md', 'project'), file('a/b', 'b'))
    const more = Array.from({ length: 60 }, (_, n) => commit('main', 'x'.repeat(n + 2), file('a/b', `${n}`)))
    const { desk: at, git } = desk(
      is,
      `${first}${commit('main', 'block', file('CLAUDE.md', withBlock('project')))}${more.join('')}`,
    )
    const [head, root] = [git('rev-parse', 'main'), git('rev-list', '--max-parents=0', 'main')]
    const bare = await stripAgentBlocks(at, head, { since: [root], blocks })
    expect(started().length).toBeLessThan(12)
    git('fsck', '--strict', bare)
    expect(git('show', `${bare}:CLAUDE.md`)).toBe('project')
    expect(git('rev-parse', `${bare}:a`)).toBe(git('rev-parse', 'main:a'))
    // The one that held nothing else is gone, the others have all that they had.
    expect(git('rev-list', '--count', bare)).toBe('61')
    const told = (of: string): string => git('log', '--format=%an %ad %cd %s', '-60', of)
    expect(told(bare)).toBe(told('main'))
  },
)

test('what came before the first of them, or has none, stays what it is', async () => {
  const stream = `${commit('main', '1', file('f', '1'))}${commit('main', '22', file('f', '2'))}`
  const { desk: at, git } = desk(false, stream)
  const head = git('rev-parse', 'main')
  expect(await stripAgentBlocks(at, head, { since: [], blocks })).toBe(head)
  expect(await stripAgentBlocks(at, head, { since: [], blocks: [] })).toBe(head)
})

test('of two lines that meet, both are told anew, and a file that was nothing else is gone', async () => {
  const stream = [
    commit('main', '1', file('f', '1')),
    commit('main', '22', file('CLAUDE.md', inject(null, 'ours')), file('g', '2')),
    commit('side', '333', 'from :1\n', file('s', '3')),
    commit('main', '4444', 'merge :3\n', file('CLAUDE.md', inject(null, 'ours')), file('s', '3')),
  ].join('')
  const { desk: at, git } = desk(false, stream)
  const bare = await stripAgentBlocks(at, git('rev-parse', 'main'), { since: [], blocks })
  expect(git('ls-tree', '--name-only', bare).split('\n')).toEqual(['f', 'g', 's'])
  expect(git('rev-parse', `${bare}^2`)).toBe(git('rev-parse', 'side'))
  expect(git('rev-parse', `${bare}^1^`)).toBe(git('rev-parse', 'main~2'))
})
