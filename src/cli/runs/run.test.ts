import { describe, expect, test } from 'vitest'
import { AwError } from '../../domain/errors.ts'
import { people, runCli, type Result, type Scene } from '../../../test/support/cli.ts'

const run = {
  run: 'run_1',
  number: 1,
  workspace: 'x/main',
  state: 'failed',
  agent: 'claude',
  argv: [],
  argv_cut: false,
  label: 'run 1',
  prompt: 'Mend it',
  requested_at: '2030-01-01T00:00:00.000Z',
  started_at: '2030-01-01T00:00:00.000Z',
  ended_at: '2030-01-01T00:00:01.000Z',
  exit: { code: 1, signal: null, duration_ms: 1000 },
  problem: { code: 'exit', message: 'it ended with exit code 1' },
  before: null,
  snapshot: null,
  not_kept: null,
}
const started = { type: 'started', workspace: 'x/main', path: '/w/x', run, isolation: 'namespace' }
const ended = (workspace: string) => ({ type: 'ended', workspace, run: { ...run, workspace }, changes: null })

async function* items(...all: readonly unknown[]): AsyncGenerator {
  for (const item of all) {
    if (item instanceof Error) throw item
    yield item
  }
}

const told = (args: readonly string[], all: readonly unknown[], scene: Scene = people): Promise<Result> =>
  runCli(['run', ...args], { ...scene, answers: { run: () => items(...all) } })

describe('what is said around a run', () => {
  test('one that is left to itself: where its output is, and how it is ended', async () => {
    const { stdout, stderr } = await told(['--agent', 'claude', 'Mend it', '--detach'], [started])
    expect(stdout).toBe('x/main\n')
    expect(stderr).toContain('aw logs x/main --follow\n')
    expect(stderr).toContain('aw cancel x/main\n')
    const script = await told(['--agent', 'claude', 'Mend it', '--detach'], [started], {})
    expect([script.stdout, script.stderr]).toEqual(['x/main\n', ''])
  })

  test('an agent that failed can be tried', async () => {
    const { exit, stderr } = await told(['--agent', 'claude', 'Mend it'], [started, ended('x/main')])
    expect([exit, stderr]).toEqual([1, expect.stringContaining('aw agents test claude\n')])
  })

  test('several: how to look at them, and how to compare', async () => {
    const both = [ended('x/main-2'), ended('x/main-1')]
    const { stderr } = await told(['--agent', 'claude', 'Mend it', '--count', '2'], both)
    expect(stderr).toContain('aw diff x/main-1 x/main-2\n')
  })

  test('output that is missing is told', async () => {
    const lost = { type: 'lost', workspace: 'x/main', lost: 7 }
    expect((await told(['--', 'ls'], [started, lost])).stderr).toContain('7 bytes of the output are missing')
    const several = await told(['--count', '2', '--', 'ls'], [started, lost], {})
    expect(several.stderr).toContain('x/main\taw: 7 bytes of the output are missing')
  })

  test('a workspace that is there already: how to run in it', async () => {
    const exists = new AwError('workspace_exists', 'x/main exists already', { data: { name: 'x/main' } })
    const { exit, stderr } = await told(['--repo', '/r', '--id', 'x', '--', 'ls'], [exists])
    expect([exit, stderr]).toEqual([125, expect.stringContaining('To run in it, leave out what it begins as')])
  })

  test('a prompt without quotes', async () => {
    const { exit, stderr } = await told(['--agent', 'claude', 'Mend', 'it'], [])
    expect([exit, stderr]).toEqual([125, expect.stringContaining('Put the prompt into quotes')])
  })
})
