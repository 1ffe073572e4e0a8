import { expect, test } from 'vitest'
import { builtInAgents } from '../../domain/agents/built-in.ts'
import { memoryCore, type MemoryOptions } from '../../../test/memory/core.ts'
import { code } from '../../../test/contracts/manager.ts'
import { commandOf } from './command.ts'

const claude = builtInAgents['claude'] as NonNullable<(typeof builtInAgents)[string]>

async function withClaude(options?: MemoryOptions) {
  const core = memoryCore(options)
  core.agents.programs.set('claude', '/opt/claude/bin/claude')
  await core.manager.call('create', { id: 'job' })
  return { ...core, call: core.manager.call.bind(core.manager) }
}

test('a prompt goes where the agent reads it; what is not said is left out', () => {
  const isolation = 'namespace' as const
  expect(commandOf(claude, { prompt: '-- odd', isolation })).toEqual({
    argv: ['claude', '-p', '--dangerously-skip-permissions'],
    stdin: '-- odd',
    env: {},
    files: ['CLAUDE.md'],
  })
  const more = { prompt: 'x', model: 'opus', arguments: ['--verbose'], resume: true, isolation }
  expect(commandOf(claude, more).argv).toEqual([
    'claude',
    '-p',
    '--continue',
    '--model=opus',
    '--dangerously-skip-permissions',
    '--verbose',
  ])
  const byArgument = { ...claude, prompt: 'argument' as const, command: ['x', '{{prompt}}'], env: { M: '{{model}}' } }
  expect(commandOf(byArgument, { prompt: 'do it', model: 'm', isolation })).toMatchObject({
    argv: ['x', 'do it'],
    env: { M: 'm' },
  })
  expect(commandOf(byArgument, { prompt: 'do it', isolation })).not.toHaveProperty('stdin')
})

test('without walls an agent is not told to do everything without asking; without a prompt it talks to a person', () => {
  expect(commandOf(claude, { prompt: 'x', isolation: 'none' }).argv).toEqual(['claude', '-p'])
  expect(commandOf(claude, { isolation: 'namespace' })).toMatchObject({ argv: ['claude'] })
  expect(() => commandOf({ ...claude, resume: [] }, { prompt: 'x', resume: true, isolation: 'none' })).toThrow(
    'cannot go on',
  )
  expect(() => commandOf({ ...claude, interactive: [] }, { isolation: 'none' })).toThrow('needs a prompt')
})

test('a sandbox of an agent is the same after a restore, and says whose it is', async () => {
  const { call } = await withClaude()
  const { id } = await call('snapshot', { id: 'job' })
  const before = await call('start', { id: 'job', agent: 'claude', allow: ['npm'] })
  expect(before.sandbox).toMatchObject({ agent: 'claude', network: 'allowlist', allow: ['npm', 'anthropic'] })
  expect(await call('restore', { id: 'job', snapshot: id, restart: true })).toMatchObject({ ended: false })
  const after = await call('show', { id: 'job' })
  expect(after.sandbox).toMatchObject({ agent: 'claude', allow: ['npm', 'anthropic'] })
  expect(after.sandbox?.id).not.toBe(before.sandbox?.id)
  await call('stop', { id: 'job' })
  expect((await call('start', { id: 'job' })).sandbox).toMatchObject({ agent: null, network: 'none' })
})

test('with a key that is brokered it needs no host at all; without walls that could hold it, it is refused', async () => {
  const { call, agents } = await withClaude()
  agents.variables.set('ANTHROPIC_API_KEY', 'the-key')
  expect((await call('start', { id: 'job', agent: 'claude' })).sandbox).toMatchObject({
    network: 'allowlist',
    allow: [],
  })
  await call('stop', { id: 'job' })
  const refused = code('sandbox_unenforceable', { agent: 'claude' })
  await expect(call('start', { id: 'job', agent: 'claude', isolation: 'none' })).rejects.toEqual(refused)
  await expect(call('start', { id: 'job', agent: 'claude', network: 'host' })).rejects.toEqual(refused)
  agents.variables.clear()
  expect((await call('start', { id: 'job', agent: 'claude', isolation: 'none' })).sandbox).toMatchObject({
    isolation: 'none',
    network: 'host',
  })
})

test('what the operator has set for the network is kept, and the list of the settings is added to', async () => {
  const { call } = await withClaude({ set: { 'sandbox.network': 'none' } })
  expect((await call('start', { id: 'job', agent: 'claude' })).sandbox).toMatchObject({ network: 'none' })
  const other = await withClaude({ set: { 'sandbox.network': 'allowlist', 'sandbox.allow': 'pypi' } })
  expect((await other.call('start', { id: 'job', agent: 'claude' })).sandbox).toMatchObject({
    allow: ['pypi', 'anthropic'],
  })
})

test('an agent whose program is not there is refused before anything is written', async () => {
  const { call } = await withClaude()
  await expect(call('start', { id: 'job', agent: 'codex' })).rejects.toEqual(code('agent_not_installed'))
  expect(await call('agents test', { name: 'codex' })).toMatchObject({
    ok: false,
    findings: [{ status: 'problem', hint: expect.stringContaining('npm install -g @openai/codex') as unknown }],
  })
})

test('a file of the user changes a built-in agent, adds another, or is an error of its own', async () => {
  const { call, agents } = await withClaude()
  const file = (name: string, content: unknown) => agents.profiles.push({ name, file: `/d/${name}.json`, content })
  file('claude', { login: ['npm'] })
  file('twin', { extends: 'claude', title: 'Twin', binary: 'claude' })
  file('odd', { extends: 'nobody' })
  file('broken', { binary: 7 })
  expect((await call('start', { id: 'job', agent: 'claude' })).sandbox).toMatchObject({ allow: ['npm'] })
  expect(await call('agents show', { name: 'twin' })).toMatchObject({
    file: '/d/twin.json',
    profile: { title: 'Twin', prompt: 'input' },
  })
  await expect(call('agents show', { name: 'odd' })).rejects.toEqual(code('invalid_config', { field: 'extends' }))
  await expect(call('agents show', { name: 'broken' })).rejects.toEqual(code('invalid_config', { field: 'binary' }))
  const listed = await call('agents list', {})
  expect(listed.find(({ name }) => name === 'broken')).toMatchObject({ installed: false, file: '/d/broken.json' })
  expect(listed.filter(({ installed }) => installed).map(({ name }) => name)).toEqual(['claude', 'twin'])
})

test('what an agent has in a workspace is kept in the trash and goes with it', async () => {
  const { call, agents } = await withClaude()
  await call('start', { id: 'job', agent: 'claude' })
  await call('stop', { id: 'job' })
  expect(agents.places.size).toBe(1)
  await call('destroy', { id: 'job' })
  expect(agents.places.size).toBe(1)
  await call('purge', { id: 'job' })
  expect(agents.places.size).toBe(0)
})
