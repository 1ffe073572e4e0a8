/** Real agents that work with the MCP tools of their own workspace, from inside its sandbox, on stand-ins for their APIs. */
import { describe, expect, it } from 'vitest'
import { builtInAgents } from '../../src/domain/agents/built-in.ts'
import { commandOf } from '../../src/manager/agents/command.ts'
import { startDaemon } from '../daemon/daemon.ts'
import { stage, type Stage } from './fixture.ts'
import { standIn, type Turn } from './stand-in.ts'

const use = (tool: string, input: Record<string, unknown>): Turn => ({ tool: `mcp__aw__${tool}`, input })

const work: readonly Turn[] = [
  use('write_file', { path: 'work/a.sh', content: 'echo from the sandbox; exit 4\n' }),
  use('exec', { argv: ['sh', 'a.sh'] }),
  use('write_file', { path: 'work/.claude/settings.json', content: '{}' }),
  use('snapshot', { label: 'by the agent' }),
  { text: 'all used' },
]

/** What the tools have answered, as the last request to the model has it. */
function results(body: string | undefined): string[] {
  const { messages } = JSON.parse(body ?? '{}') as { messages: { content: { type: string; content?: unknown }[] }[] }
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .flatMap(({ type, content }) => (type === 'tool_result' ? [JSON.stringify(content)] : []))
}

async function expectDone(own: Stage, body: string | undefined): Promise<void> {
  const [written, ran, refused, kept] = results(body)
  expect(written).toContain('work/a.sh')
  expect(ran).toContain('from the sandbox')
  expect(ran).toMatch(/code\W+4\b/)
  expect(refused).toContain('path_protected')
  expect(kept).toContain('snap_')
  expect((await own.aw(['snapshots', 'job'])).stdout).toContain('by the agent')
  const tokens = JSON.parse((await own.aw(['token', 'list', '--json'])).stdout) as object[]
  expect(tokens).toMatchObject([{ label: 'mcp bridge', state: 'revoked', revoked: { reason: 'sandbox_ended' } }])
}

describe.each(['same', 'ordinary'] as const)('Claude Code as the %s user', (user) => {
  it('has the tools of its workspace with aw run --mcp, beside the one host that it needs', async () => {
    await using api = await standIn(work)
    await using own = stage(user, 'claude')
    Object.assign(own.here.env, { ANTHROPIC_API_KEY: 'sk-ant-not-a-key', ANTHROPIC_BASE_URL: api.url })
    await own.aw(['create', 'job'])
    const daemon = startDaemon({ at: own.here })
    try {
      const ran = await own.aw(['run', '--id', 'job', '--agent', 'claude', '--mcp', 'Use the tools'])
      expect(ran).toMatchObject({ code: 0, stdout: 'all used\n' })
      await expectDone(own, api.seen.at(-1)?.body)
    } finally {
      await daemon.end()
    }
  })
})

it('Claude Code has them with no network at all, where the model is in the sandbox too', async () => {
  await using own = stage('ordinary', 'claude')
  await own.aw(['create', 'job'])
  const daemon = startDaemon({ at: own.here })
  try {
    for (const name of ['stand-in-program', 'stand-in', 'stand-in-anthropic', 'stand-in-openai', 'stand-in-gemini'])
      await own.aw(['cp', new URL(`${name}.ts`, import.meta.url).pathname, `job:work/${name}.ts`])
    await own.aw(['cp', process.execPath, 'job:work/node'])
    const script = [
      `tail -f /dev/null | ./node stand-in-program.ts '${JSON.stringify(work)}' > url &`,
      'until [ -s url ]; do sleep 0.1; done',
      'export ANTHROPIC_API_KEY=sk-ant-held-by-the-aw-proxy ANTHROPIC_BASE_URL=$(cat url)',
      'echo "Use the tools" | claude -p --dangerously-skip-permissions',
    ].join('\n')
    const walls = ['--mcp', '--agent', 'claude', '--network', 'none']
    const { code, stdout, stderr } = await own.aw(['exec', 'job', ...walls, '--', 'sh', '-c', script])
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'all used\n' })
    const events = (await own.aw(['history', 'job', '--json'])).stdout
    expect(JSON.parse(events)).toContainEqual(expect.objectContaining({ argv: ['sh', 'a.sh'] }))
    expect((await own.aw(['snapshots', 'job'])).stdout).toContain('by the agent')
  } finally {
    await daemon.end()
  }
})

it.each([
  ['codex', 'OPENAI_API_KEY', 'played'],
  ['opencode', 'ANTHROPIC_API_KEY', 'anthropic/claude-sonnet-4-5'],
] as const)('%s offers them to its model', async (agent, variable, model) => {
  await using api = await standIn([{ text: 'seen' }])
  await using own = stage('ordinary', agent)
  own.here.env[variable] = 'not-a-key'
  const profile = builtInAgents[agent]
  if (profile === undefined) throw new Error(agent)
  const credentials = profile.credentials
    .filter(({ from }) => 'variable' in from && from.variable === variable)
    .map(({ from, broker }) => ({ from, broker: { ...broker, upstream: api.url } }))
  own.profile(agent, { credentials })
  await own.aw(['create', 'job'])
  const daemon = startDaemon({ at: own.here })
  try {
    const { argv, stdin } = commandOf(profile, { prompt: 'Look at your tools', model, isolation: 'namespace' })
    const ran = await own.aw(['exec', 'job', '--mcp', '--agent', agent, '--', ...argv], stdin)
    expect(ran).toMatchObject({ code: 0 })
    expect(api.seen.some(({ body }) => body.includes('list_snapshots'))).toBe(true)
  } finally {
    await daemon.end()
  }
})
