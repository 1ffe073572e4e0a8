/** The real Claude Code in a sandbox, with a stand-in for its API on loopback: as root and as an ordinary user. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { standIn, type StandIn, type Turn } from './stand-in.ts'
import { key, stage, type Stage } from './fixture.ts'

const bash = (command: string): Turn => ({ tool: 'Bash', input: { command, description: 'look' } })

/** Everywhere that a program of the box can look for a secret. */
const search = [
  `for file in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do tr '\\0' '\\n' < $file; done 2>/dev/null`,
  'env',
  `find / -xdev -type f -size -2048k 2>/dev/null | grep -vE '^/(usr|proc|sys)/' | xargs -d '\\n' cat 2>/dev/null`,
  // Not where the agent's program is: the checkout may be anywhere, and what is compiled of these tests is beside it.
  'find /home /home/agent/.claude /run /tmp /opt /opt/aw/programs /workspace -xdev -type f -size -2048k -print0 ' +
    '2>/dev/null | xargs -0 cat 2>/dev/null',
].join('; ')

const headless = ['claude', '-p', '--output-format', 'json', '--allowedTools', 'Bash,Write']

/** What the last tool that it called has said. */
function resultOf({ seen }: StandIn): string {
  const { messages } = JSON.parse(seen.at(-1)?.body ?? '{}') as { messages: { content: { type: string }[] }[] }
  const results = messages.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result')
  return JSON.stringify(results.at(-1))
}

interface Answer {
  readonly is_error: boolean
  readonly result: string
  readonly session_id: string
}

async function ask(own: Stage, prompt: string, ...flags: readonly string[]): Promise<Answer> {
  const { code, stdout, stderr } = await own.aw(
    ['exec', 'job', '--agent', 'claude', '--', ...headless, ...flags],
    prompt,
  )
  if (code !== 0) throw new Error(stdout + stderr)
  return JSON.parse(stdout) as Answer
}

const users = ['same', 'ordinary'] as const

describe.each(users)('as the %s user', (user) => {
  it('works behind the walls, and its key is nowhere inside, nor in the log, nor left anywhere', async () => {
    await using api = await standIn([
      { tool: 'Write', input: { file_path: '/workspace/work/made.txt', content: 'by a tool\n' } },
      bash(`(${search}) > seen.txt; cat /proc/self/uid_map >> seen.txt; ls -A /home/agent > home.txt`),
      { text: 'It is made' },
    ])
    await using own = stage(user, 'claude')
    Object.assign(own.here.env, { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: api.url })
    await own.aw(['create', 'job'])
    expect(await ask(own, 'Make the file')).toMatchObject({ is_error: false, result: 'It is made' })

    const place = (await own.aw(['path', 'job'])).stdout.trim()
    // It may be large: all that can be read in there.
    const file = (name: string): string => readFileSync(join(place, 'work', name), 'latin1')
    expect(file('made.txt')).toBe('by a tool\n')
    const seen = file('seen.txt')
    expect(seen).toContain('ANTHROPIC_BASE_URL=http://127.0.0.1:3128/.aw/anthropic')
    expect(seen).toContain('sk-ant-held-by-the-aw-proxy')
    expect(seen).not.toContain(key)
    expect(file('home.txt').trim().split('\n')).toEqual(['.claude'])
    expect(api.seen.length).toBeGreaterThanOrEqual(3)
    expect(new Set(api.seen.map(({ headers }) => headers['x-api-key']))).toEqual(new Set([key]))
    expect((await own.aw(['events', '--json'])).stdout).not.toContain(key)
    expect(own.here.sh(`grep -rlF '${key}' "$AW_HOME"`).stdout).toBe('')
    expect((await own.aw(['requests', 'job', '--json'])).stdout).not.toContain(key)
  })

  it('goes on with its last session in a sandbox that is started anew; with a purge its state is gone', async () => {
    await using api = await standIn([{ text: 'Understood' }])
    await using own = stage(user, 'claude')
    Object.assign(own.here.env, { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: api.url })
    await own.aw(['create', 'job'])
    const first = await ask(own, 'Remember the word heliotrope')
    const again = await ask(own, 'Which word?', '--continue')
    expect(again.session_id).toBe(first.session_id)
    expect(api.seen.at(-1)?.body).toContain('heliotrope')
    const states = join(own.here.home, 'agents')
    expect(readdirSync(states)).toHaveLength(1)
    await own.aw(['destroy', 'job'])
    expect(readdirSync(states)).toHaveLength(1)
    await own.aw(['purge', 'job'])
    expect(readdirSync(states)).toEqual([])
  })

  it('may not change its own settings in the repository', async () => {
    await using api = await standIn([
      bash('mkdir -p .claude; echo "{}" > .claude/settings.json; echo "{}" > .mcp.json; mv .claude x'),
      { text: 'done' },
    ])
    await using own = stage(user, 'claude')
    Object.assign(own.here.env, { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: api.url })
    await own.aw(['create', 'job'])
    await ask(own, 'Change them', '--dangerously-skip-permissions')
    expect(resultOf(api)).toMatch(/Read-only file system|Permission denied|busy/)
    expect((await own.aw(['fs', 'list', 'job', 'work', '--json'])).stdout).not.toContain('claude')
  })

  it('is tried at every level, with what is missing and where its key would be', async () => {
    await using own = stage(user, 'claude')
    const { code, stdout } = await own.aw(['agents', 'test', 'claude', '--json'])
    expect(code).toBe(0)
    const { findings } = JSON.parse(stdout) as { findings: { name: string; status: string; message: string }[] }
    const of = (name: string) => findings.find((finding) => finding.name === `agent claude${name}`)
    expect(of(' at namespace')).toMatchObject({ status: 'ok', message: 'starts: 2.1.325 (Claude Code)' })
    expect(of(' at none')?.message).toBe('starts: 2.1.325 (Claude Code)')
    const doctor = await own.aw(['doctor', '--agent', 'claude', '--json'])
    const found = (JSON.parse(doctor.stdout) as { findings: { name: string; status: string }[] }).findings
    expect(found).toContainEqual(expect.objectContaining({ name: 'agent claude at namespace', status: 'ok' }))
    expect(of(' credential')).toMatchObject({ status: 'warning' })
    expect(of(' credential')?.message).toContain('ANTHROPIC_API_KEY')
    expect(existsSync(join(own.here.home, 'agents')) ? readdirSync(join(own.here.home, 'agents')) : []).toEqual([])
    const withKey = await stageWith(own, { ANTHROPIC_API_KEY: key }, ['agents', 'test', 'claude', '--json'])
    expect(withKey).toContain('ANTHROPIC_API_KEY: the proxy adds it for https://api.anthropic.com')
    expect(withKey).not.toContain(key)
  })
})

async function stageWith(own: Stage, env: Record<string, string>, args: readonly string[]): Promise<string> {
  Object.assign(own.here.env, env)
  return (await own.aw(args)).stdout
}

it('a login of the user is used as long as it is valid, and stays outside', async () => {
  await using api = await standIn([bash('cat .credentials.json ~/.claude/.credentials.json; env'), { text: 'done' }])
  await using own = stage('ordinary', 'claude')
  own.here.sh(`mkdir "$HOME/.claude"
    echo '{"claudeAiOauth":{"accessToken":"${key}","refreshToken":"other-secret"}}' > "$HOME/.claude/.credentials.json"`)
  own.here.env['ANTHROPIC_BASE_URL'] = api.url
  await own.aw(['create', 'job'])
  expect(await ask(own, 'Look')).toMatchObject({ result: 'done' })
  expect(api.seen.at(-1)?.headers['authorization']).toBe(`Bearer ${key}`)
  expect(resultOf(api)).toContain('HOME=/home/agent')
  expect(resultOf(api)).not.toMatch(/the-real-key|other-secret/)
})

it('where nothing keeps its key out it is refused, unless the operator says what to do', async () => {
  await using own = stage('ordinary', 'claude')
  own.here.env['ANTHROPIC_API_KEY'] = key
  await own.aw(['create', 'job'])
  const none = [
    'exec',
    'job',
    '--agent',
    'claude',
    '--isolation',
    'none',
    '--',
    'sh',
    '-c',
    'echo "[$ANTHROPIC_API_KEY]"',
  ]
  const refused = await own.aw(none)
  expect(refused.code).toBe(125)
  expect(refused.stderr).toContain('Nothing keeps the credential of Claude Code (ANTHROPIC_API_KEY) out of a sandbox')
  expect(refused.stderr).not.toContain(key)
  const host = await own.aw(['start', 'job', '--agent', 'claude', '--network', 'host'])
  expect(host.stderr).toContain('with the network host')
  expect((await own.aw(['--set', 'agents.unbrokered=without', ...none])).stdout).toBe('[]\n')
  expect((await own.aw(['--set', 'agents.unbrokered=environment', ...none])).stdout).toBe(`[${key}]\n`)
})

it('its network is what it needs, and what the user says besides or instead', async () => {
  await using own = stage('ordinary', 'claude')
  await own.aw(['create', 'job'])
  const started = async (...flags: readonly string[]) => {
    const { stdout, stderr } = await own.aw(['start', 'job', '--agent', 'claude', ...flags, '--json'])
    await own.aw(['stop', 'job'])
    return (JSON.parse(stdout || stderr) as { sandbox: object }).sandbox
  }
  expect(await started()).toMatchObject({ agent: 'claude', network: 'allowlist', allow: ['anthropic'] })
  own.here.env['ANTHROPIC_API_KEY'] = key
  expect(await started()).toMatchObject({ network: 'allowlist', allow: [] })
  expect(await started('--allow', 'npm')).toMatchObject({ network: 'allowlist', allow: ['npm'] })
  expect(await started('--network', 'none')).toMatchObject({ network: 'none', allow: [] })
  await own.aw(['start', 'job', '--agent', 'claude'])
  const other = await own.aw(['exec', 'job', '--agent', 'codex', '--', 'true'])
  expect(other.stderr).toContain('started with another agent')
  expect((await own.aw(['exec', 'job', '--', 'claude', '--version'])).stdout).toContain('Claude Code')
  expect(readFileSync(join(own.here.home, 'log.db'), 'latin1')).not.toContain(key)
})

it('one that is not installed says how to install it', async () => {
  await using own = stage('ordinary')
  own.here.env['PATH'] = '/usr/bin:/bin'
  await own.aw(['create', 'job'])
  const { code, stderr } = await own.aw(['start', 'job', '--agent', 'claude'])
  expect(code).toBe(3)
  expect(stderr).toContain('Claude Code is not installed: there is no claude in PATH')
  expect(stderr).toContain('npm install -g @anthropic-ai/claude-code')
  expect(await own.aw(['agents', 'test', 'claude'])).toMatchObject({ code: 1 })
  // Nothing is made for it.
  expect(await own.aw(['run', '--agent', 'claude', '--id', 'new', 'Do it'])).toMatchObject({ code: 125 })
  expect((await own.aw(['exists', 'new'])).code).toBe(3)
  expect((await own.aw(['start', 'job', '--agent', 'claud'])).stderr).toContain('Did you mean claude?')
})
