import { expect, test } from 'vitest'
import { sampleWorkspace, shown } from '../../../../test/support/cli.ts'

const claude = {
  name: 'claude',
  title: 'Claude Code',
  installed: true,
  program: '/opt/claude',
  credential: 'ANTHROPIC_API_KEY',
  file: null,
  problem: null,
}

test('agents, where they are, and what is wrong with those that are not', async () => {
  const codex = {
    ...claude,
    name: 'codex',
    installed: false,
    program: null,
    credential: null,
    problem: 'there is no codex',
  }
  const { stdout } = await shown(['agents', 'list'], [claude, codex])
  expect(stdout).toMatch(/claude +Claude Code +ANTHROPIC_API_KEY +\/opt\/claude/)
  expect(stdout).toMatch(/- +there is no codex/)
  expect((await shown(['agents', 'list', '-q'], [claude, codex])).stdout).toBe('claude\ncodex\n')
})

test('one agent with all its fields, what it reads, and what to do about it', async () => {
  const output = {
    profile: { title: 'Claude Code', command: ['claude', '-p'] },
    file: '/home/agents.d/claude.json',
    program: '/opt/claude.js',
    runtime: '/opt/node',
    reads: ['/opt/claude.js', '/opt/node'],
    credential: null,
    problem: { message: 'it needs Node 22 or later, and /opt/node is 20.1.0', hint: 'Install Node 22 or later' },
  }
  const { stdout, stderr } = await shown(['agents', 'show', 'claude'], output)
  expect(stdout).toMatch(/command +\[ "claude", "-p" \]/)
  expect(stdout).toMatch(
    /run by +\/opt\/node\ncan read +\/opt\/claude\.js\ncan read +\/opt\/node\nkey +none is there\n/,
  )
  expect(stdout).toMatch(/profile +\/home\/agents\.d\/claude\.json\n/)
  expect(stderr).toContain('/opt/node is 20.1.0; Install Node 22 or later')
})

test('trying one is a verdict', async () => {
  const findings = [{ name: 'agent claude', status: 'problem', message: 'is not installed', hint: 'npm install' }]
  expect(await shown(['agents', 'test', 'claude'], { ok: false, findings })).toMatchObject({ exit: 1 })
  expect(await shown(['agents', 'test', 'claude'], { ok: true, findings: [] })).toMatchObject({ exit: 0 })
})

test('a sandbox says whose it is', async () => {
  const sandbox = {
    id: 'box_1',
    isolation: 'namespace',
    network: 'allowlist',
    allow: [],
    agent: 'claude',
    mount: '/workspace',
    started_at: '2029-12-31T23:00:00.000Z',
  }
  const { stdout } = await shown(['start', 'x'], sampleWorkspace({ state: 'running', sandbox }))
  expect(stdout).toContain('is started: namespace, for claude, network allowlist, at /workspace')
})
