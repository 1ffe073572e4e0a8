/** The whole way: the real Claude Code on a real repository, in runs that end well, badly and early, and their results. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { inRoot } from '../../tools/root.ts'
import { drawn } from '../support/random-selection.ts'
import { stage, type Stage } from './fixture.ts'
import { standIn } from './stand-in.ts'

/** Not one that stands in the sources, which are what the agents work on. */
const key = `sk-ant-${randomUUID()}`

const bash = (command: string) => ({ tool: 'Bash', input: { command, description: 'work' } })

/** This very project, as a user of the stage has it. */
function repository(own: Stage): string {
  const folder = join(own.here.folder, 'project')
  execFileSync('git', ['clone', '-q', '--depth=1', `file://${inRoot('.')}`, folder])
  const owner = own.here.sh('stat -c %u:%g .').stdout.trim()
  execFileSync('chown', ['-R', owner, folder])
  return folder
}

/** One that answers nobody. */
async function closedApi(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    request.resume()
    // One that it need not try again.
    const error = { type: 'error', error: { type: 'invalid_request_error', message: 'your credit is used up' } }
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Run = Outputs['runs'][number]

const users = drawn(['same', 'ordinary'] as const, () => 'users')

describe.each(users)('as the %s user', (user) => {
  it('three agents at once: one is done, one fails, one is cancelled; results are branches; nothing is lost', async () => {
    await using good = await standIn([
      { tool: 'Write', input: { file_path: '/workspace/GREETING.md', content: 'Hello\n' } },
      bash('git add -A && git commit -qm "Greet" && echo more >> GREETING.md && rm LICENSE'),
      { text: 'I wrote a greeting' },
    ])
    await using slow = await standIn([bash('echo begun > begun; tail -f /dev/null'), { text: 'never' }])
    await using closed = await closedApi()
    await using own = stage(user, 'claude')
    const repo = repository(own)
    const before = own.here.sh(`cd ${repo} && git status --porcelain=v2 --branch && git for-each-ref`).stdout
    const run = (id: string, api: { url: string }) => {
      Object.assign(own.here.env, { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: api.url })
      return own.aw([
        'run',
        '--repo',
        repo,
        '--profile',
        'repo',
        '--agent',
        'claude',
        '--id',
        `greet/${id}`,
        'Write a greeting',
      ])
    }
    const runs = async (): Promise<Run[]> => JSON.parse((await own.aw(['runs', '--json'])).stdout) as Run[]
    const stateOf = async (id: string) => (await runs()).find(({ workspace }) => workspace === `greet/${id}`)?.state

    const [one, two, three] = [run('one', good), run('two', closed), run('three', slow)]
    for (let tries = 0; tries < 100; tries++) {
      if ((await own.aw(['fs', 'list', 'greet/three', '--json'])).stdout.includes('begun')) break
      await sleep(200)
    }
    expect(await stateOf('three')).toBe('running')
    // What is there only to be protected is nobody's work.
    const meanwhile = await own.aw(['diff', 'greet/three'])
    expect(meanwhile.stdout).toContain('begun')
    expect(meanwhile.stdout).not.toMatch(/\.mcp\.json|\.claude/)
    expect((await own.aw(['export', 'greet/three', '--patch', '-'])).stdout).not.toMatch(/mcp\.json/)
    expect((await own.aw(['destroy', 'greet/three'])).code).toBe(9)
    expect((await own.aw(['cancel', 'greet/three'])).code).toBe(0)
    expect((await three).code).toBe(130)
    expect(await two).toMatchObject({ code: 1 })
    const done = await one
    expect(done).toMatchObject({ code: 0, stdout: 'I wrote a greeting\n' })
    expect(done.stderr).toMatch(/greet\/one {2}completed after \d+\.\d s: 1 added, .*1 removed/)
    expect(await Promise.all(['one', 'two', 'three'].map(stateOf))).toEqual(['completed', 'failed', 'cancelled'])
    expect((await own.aw(['logs', 'greet/two'])).stdout).toContain('credit')
    expect(good.seen.every(({ headers }) => headers['x-api-key'] === key)).toBe(true)

    const about = JSON.parse((await own.aw(['fs', 'read', 'greet/one', '.m/run.json'])).stdout) as object
    expect(about).toMatchObject({ prompt: 'Write a greeting', agent: 'claude', repo_name: 'project' })
    expect((await own.aw(['diff', 'greet/one'])).stdout).toContain('GREETING.md')
    const exported = await own.aw(['export', 'greet/one', '--branch', 'greeting', '--repo', repo])
    expect(exported).toMatchObject({ code: 0 })
    const git = (line: string) => own.here.sh(`cd ${repo} && git ${line}`).stdout
    expect(git('show greeting:GREETING.md')).toBe('Hello\nmore\n')
    expect(git('log --format=%s -2 greeting').trim().split('\n').at(-1)).toBe('Greet')
    expect(git('show --format= --name-only greeting~1')).toBe('GREETING.md\n')
    expect(git('diff --name-status HEAD greeting')).toBe('A\tGREETING.md\nD\tLICENSE\n')
    expect(
      `${git('status --porcelain=v2 --branch')}${git('for-each-ref')}`.replace(/^.*refs\/heads\/greeting\n/m, ''),
    ).toBe(before)

    expect((await own.aw(['undo', 'greet/one'])).code).toBe(0)
    expect((await own.aw(['fs', 'list', 'greet/one', '--json'])).stdout).not.toContain('GREETING')
    expect((await own.aw(['redo', 'greet/one'])).code).toBe(0)
    expect((await own.aw(['destroy', 'greet/one', 'greet/two', 'greet/three'])).code).toBe(0)
    expect(await runs()).toEqual([])
    expect((await own.aw(['undelete', 'greet/three'])).code).toBe(0)
    expect((await own.aw(['fs', 'read', 'greet/three', 'begun'])).stdout).toBe('begun\n')
    expect((await own.aw(['logs', 'greet/three'])).code).toBe(0)
    expect(own.here.sh(`grep -rlF '${key}' "$AW_HOME"`).stdout).toBe('')
  })

  it('goes on with the conversation in the same workspace; each turn is one step that can be taken back', async () => {
    await using api = await standIn([bash('echo turn >> turns'), { text: 'done' }])
    await using own = stage(user, 'claude')
    Object.assign(own.here.env, { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: api.url })
    const first = await own.aw(['run', '--agent', 'claude', '--id', 'talk', 'Remember heliotrope'])
    expect(first).toMatchObject({ code: 0, stdout: 'done\n' })
    const again = await own.aw(['run', '--id', 'talk', '--resume', 'And now?'])
    expect(again.code).toBe(0)
    expect(api.seen.at(-1)?.body).toContain('heliotrope')
    const snapshots = JSON.parse((await own.aw(['snapshots', 'talk', '--json'])).stdout) as { label: string | null }[]
    expect(snapshots.map(({ label }) => label)).toContain('run 1')
    // The log holds the hash of a prompt and no word of it; people are shown what is kept beside it.
    expect(own.here.sh(`cd "$AW_HOME" && grep -lF heliotrope log.*`).stdout).toBe('')
    expect((await own.aw(['runs', 'talk'])).stdout).toContain('claude: Remember heliotrope')
    const all = JSON.parse((await own.aw(['runs', 'talk', '--json'])).stdout) as Run[]
    expect(all).toMatchObject([
      { number: 1, agent: 'claude', argv: [], state: 'completed' },
      { number: 2, label: 'run 2', prompt: 'And now?' },
    ])
  })
})
