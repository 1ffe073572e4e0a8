import { expect, test } from 'vitest'
import { people, runCli } from '../../../test/support/cli.ts'

const run = {
  run: 'run_1',
  number: 2,
  workspace: 'x/main',
  state: 'running',
  agent: 'claude',
  argv: [],
  argv_cut: false,
  label: 'run 1',
  prompt: 'Mend it',
  requested_at: '2029-12-31T23:59:00.000Z',
  started_at: '2029-12-31T23:59:00.000Z',
  ended_at: null,
  exit: null,
  problem: null,
}

test('status tells who works on what, on a screen that may be lower than the list is long', async () => {
  const one = { state: 'running', operation: null, isolation: 'namespace', commands: 0, problem: null, run }
  const workspaces = Array.from({ length: 40 }, (_, i) => ({
    ...one,
    workspace: `w${i}/main`,
    updated_at: run.started_at,
  }))
  const answers = { status: { workspaces, running: 40, trashed: 0 } }
  const once = await runCli(['status', '--once'], { ...people, answers })
  expect(once.stdout).toMatch(/^w0\/main +running +namespace +2 +running +60 +- +1m +claude: Mend it$/m)

  const stop = new AbortController()
  const ask = () => (stop.abort(), answers.status)
  const live = await runCli(['status'], { ...people, signal: stop.signal, answers: { status: ask } })
  const lines = live.stdout.trimEnd().split('\n')
  expect([lines.length, lines[1], lines.at(-1)]).toEqual([
    29,
    '… 16 more above: aw status --once',
    'Ctrl-C ends this view; what runs goes on',
  ])
  expect(lines.at(-4)).toContain('w39/main')
})

test('a person is told where to look if a run has written nothing; a script is not', async () => {
  const answers = { logs: async function* () {} }
  expect(await runCli(['logs', 'x'], { ...people, answers })).toMatchObject({
    exit: 0,
    stderr: 'Nothing was written. How the run is: aw runs x\n',
  })
  expect(await runCli(['logs', 'x'], { answers })).toMatchObject({ exit: 0, stdout: '', stderr: '' })
})

test.each(['q', '\u0003'])('the key %j ends the live view, and the terminal is as it was', async (stdin) => {
  const answers = { status: { workspaces: [], running: 0, trashed: 0 } }
  const live = await runCli(['status'], { ...people, stdinIsTerminal: true, stdin, answers })
  expect(live).toMatchObject({ exit: 0, modes: ['raw', 'restored'] })
  expect(live.stdout).toContain('q ends this view; what runs goes on\r\n')
})
