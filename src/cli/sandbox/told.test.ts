import { describe, expect, test } from 'vitest'
import { runCli, sampleWorkspace, shown } from '../../../test/support/cli.ts'

const notes = ['nobody keeps cpu_percent here: there is no cgroup', 'a "name" is a link']

describe('what the walls of a sandbox do not keep', () => {
  const sandbox = {
    id: 'box_1',
    isolation: 'namespace',
    network: 'none',
    allow: [],
    mount: '/workspace',
    started_at: '2029-12-31T23:00:00.000Z',
    grades: { cpu_percent: 'none', processes: 'rlimit' },
    notes,
  }
  const running = sampleWorkspace({ state: 'running', sandbox })

  test('is told when it is started, to a script too', async () => {
    const { stdout, stderr } = await runCli(['start', 'x'], { answers: { start: running } })
    expect(stdout).toBe('fix-login/claude is started: namespace, network none, at /workspace\n')
    expect(stderr).toBe(notes.map((note) => `aw: fix-login/claude: ${note}\n`).join(''))
    expect((await shown(['start', 'x', '-q'], running)).stderr).toBe('')
    const json = await runCli(['start', 'x', '--json'], { answers: { start: running } })
    expect(JSON.parse(json.stdout)).toMatchObject({ sandbox: { notes, grades: { cpu_percent: 'none' } } })
    expect(json.stderr).toBe('')
  })

  test('stands in show', async () => {
    const page = (await shown(['show', 'x'], running, {})).stdout
    expect(page).toContain('limits kept by\tcpu_percent: none, processes: rlimit\n')
    for (const note of notes) expect(page).toContain(`not as asked\t${note}\n`)
  })

  test('stands in the log of a set-up', async () => {
    const log = { template: 'page', version: 1, started_at: '', ended_at: '', problem: null, notes, commands: [] }
    const { stdout, stderr } = await runCli(['template', 'log', 'page'], { answers: { 'template log': log } })
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: notes.map((note) => `aw: ${note}\n`).join('') })
    expect((await shown(['template', 'log', 'page', '-q'], log)).stderr).toBe('')
  })
})
