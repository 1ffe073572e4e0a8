import { describe, expect, test } from 'vitest'
import type { Outputs } from '../../../api/table.ts'
import { paint } from '../../output/color.ts'
import { runCli, type Scene } from '../../../../test/support/cli.ts'
import { usage } from './usage.ts'

type Report = Outputs['usage']
const MB = 2 ** 20
const none = { bytes: 0, complete: true }
const unknown = { own_bytes: null, shared_bytes: null }

const workspace = (name: string, size: number, rest: Partial<Report['workspaces'][number]> = {}) => ({
  id: 'ws_1',
  name,
  state: 'ready',
  bytes: size,
  complete: true,
  growth_bytes: size,
  ...unknown,
  size_limit: { mb: 1000, grade: 'kernel' as const },
  over: false,
  snapshots: { count: 0, ...none, all: [] },
  trash: { count: 0, ...none, trees: [] },
  total_bytes: size,
  ...rest,
})

const report: Report = {
  workspaces: [
    workspace('fix-login/claude', 700 * MB, { snapshots: { count: 3, bytes: 20 * MB, complete: true, all: [] } }),
    workspace('spike/main', 100 * MB, { size_limit: { mb: 50, grade: 'watched' }, over: true }),
    workspace('huge/main', 30 * MB, { complete: false, growth_bytes: null }),
    workspace('free/main', 0, { size_limit: { mb: 0, grade: 'none' } }),
    workspace('old\u001b[31m/main', 0, {
      state: 'trashed',
      trash: { count: 1, bytes: 9 * MB, complete: true, trees: [] },
    }),
  ],
  bases: [
    {
      name: 'git-4f1c0e9d5a',
      from: 'https://example.com/web.git',
      bytes: 400 * MB,
      complete: true,
      ...unknown,
      workspaces: 2,
    },
  ],
  repositories: [
    { name: 'r', url: 'https://example.com/web.git', bytes: 50 * MB, used_at: '2029-12-01T00:00:00.000Z' },
  ],
  shared: [
    { name: 'cache', task: null, state: 'ready', bytes: 60 * MB, complete: true },
    { name: 'former', task: null, state: 'trashed', bytes: 8 * MB, complete: true },
  ],
  totals: { workspaces: none, snapshots: none, bases: none, trash: none, repositories: none, shared: none, all: none },
  storage: { driver: 'btrfs', free_bytes: 5e9, total_bytes: 50e9, used_percent: 90, files: null },
  limits: [
    { what: 'store', of: null, limit_mb: 5000, reserved_mb: 4900, workspaces: 4, unlimited: 1 },
    { what: 'label', of: 'team=web', limit_mb: 2000, reserved_mb: 1000, workspaces: 1, unlimited: 0 },
  ],
  warnings: ['spike/main is over its 50 MB'],
}

const shown = async (output: Report, scene: Scene = {}): Promise<string> => {
  const { stdout, stderr, exit } = await runCli(['usage'], { ...scene, answers: { usage: output } })
  expect(exit).toBe(0)
  return stdout + stderr
}

describe('usage', () => {
  test('a pipe gets a line for each thing, with bytes, and a log each warning', async () => {
    const warnings = ['spike/main is over its 50 MB', 'The disk is 90% full']
    expect((await shown({ ...report, warnings })).split('\n')).toEqual([
      'workspace\tfix-login/claude\t734003200\tall\t70% of 1000 MB, kernel',
      'workspace\tspike/main\t104857600\tall\t200% of 50 MB',
      'workspace\thuge/main\t31457280\tat least\tmay add 1000 MB',
      'workspace\tfree/main\t0\tall\tno limit',
      'snapshots\tfix-login/claude\t20971520\tall\t3 snapshots',
      'shared\tcache\t62914560\tall\tfor all tasks',
      'base\tgit-4f1c0e9d5a\t419430400\tall\tfor 2 workspaces, from https://example.com/web.git',
      'repository\thttps://example.com/web.git\t52428800\tall\tfetched',
      'trash\told\\x1b[31m/main\t9437184\tall\t1 tree',
      'trash\tformer\t8388608\tall\tshared area',
      'storage\tbtrfs\t45000000000\tall\t90% full, 5000000000 of 50000000000 are free',
      'limit\tstore\t5138022400\tall\t4900 of 5000 MB reserved by 4 workspaces',
      'limit\tteam=web\t1048576000\tall\t1000 of 2000 MB reserved by 1 workspace',
      'aw: spike/main is over its 50 MB',
      'aw: The disk is 90% full',
      'Not everything was counted; do so with: aw usage --full',
      '',
    ])
  })

  test('a terminal gets bars, and says what was not counted', async () => {
    const text = await shown(report, { terminal: true, env: { NO_COLOR: '1' } })
    expect(text).toContain('Workspaces > 830 MiB\n')
    expect(text).toMatch(/ fix-login\/claude +█{21} +700 MiB {2}70% of 1000 MB, kernel\n/)
    expect(text).toMatch(/ spike\/main +███ +100 MiB {2}200% of 50 MB\n/)
    expect(text).toMatch(/ huge\/main +█ +> 30\.0 MiB {2}may add 1000 MB\n/)
    expect(text).toMatch(/ git-4f1c0e9d https.*web\.git +█+ +400 MiB {2}for 2 workspaces\n/)
    expect(text).toMatch(/Storage \(btrfs\) {2}█{13}░ {2}90% full, 4\.7 GiB of 46\.6 GiB are free\n/)
    expect(text).toMatch(/Budget {11}█{14} {2}4900 of 5000 MB reserved by 4 workspaces\n/)
    expect(text).toMatch(/team=web {9}█{7}░{7} {2}1000 of 2000 MB reserved by 1 workspace\n/)
    expect(text).toContain('! spike/main is over its 50 MB\n')
    expect(text).toContain('aw usage --full')
  })

  test.each([40, 60, 80, 120, 200])('no line is longer than %i columns, whatever the names are', (columns) => {
    const long = { ...report, workspaces: [workspace('a'.repeat(60) + '/' + 'b'.repeat(60), 5)] }
    const view = {
      paint: paint(false),
      terminal: true,
      columns,
      quiet: false,
      now: 0,
      input: {},
      told: new Set<string>(),
    }
    const lines = String(usage(long, view).out).split('\n')
    expect(lines.length).toBeGreaterThan(10)
    expect(lines.filter((line) => line.length > columns)).toEqual([])
    expect(lines.filter((line) => line.includes('% full') && line.includes('Storage'))).toHaveLength(1)
  })

  test('nothing more is said where all was counted; a base that shares its beginning has its whole name', async () => {
    const [base] = report.bases
    const bases = ['folder-0123456789-1', 'folder-0123456789-2'].map(
      (name) => ({ ...base, name }) as (typeof report.bases)[0],
    )
    const whole = { ...report, workspaces: report.workspaces.filter(({ complete }) => complete), bases }
    expect(await shown(whole)).not.toContain('--full')
    expect(
      String(
        usage(whole, {
          paint: paint(false),
          terminal: true,
          columns: 200,
          quiet: false,
          now: 0,
          input: {},
          told: new Set<string>(),
        }).out,
      ),
    ).toContain(' folder-0123456789-2 ')
  })

  test('of many only the largest are shown on a terminal', async () => {
    const many = Array.from({ length: 50 }, (_, i) => workspace(`task-${i}/main`, i * MB))
    const text = await shown({ ...report, workspaces: many }, { terminal: true, env: { NO_COLOR: '1' } })
    expect(text).toContain('and 30 smaller; all of them: aw usage --json')
    expect(text).toContain('task-49/main')
    expect(text).not.toContain('task-9/main')
  })
})
