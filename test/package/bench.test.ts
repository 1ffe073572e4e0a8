/** That the benchmarks run and judge. How fast anything is, is not for a test to say: the machine may be busy. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { header, table } from '../../bench/report.ts'
import { compete, row, verdict } from '../../bench/row.ts'
import { inRoot } from '../../tools/root.ts'

const folder = mkdtempSync(join(tmpdir(), 'aw-bench-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bench = (...args: readonly string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, [inRoot('bench/main.ts'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, AW_BENCH_DIR: join(folder, 'place') },
  })

test('the benchmarks run, print ratios and write their results', () => {
  const { status, stdout, stderr } = bench('lifecycle', 'cli', 'daemon', '--quick', '--out', join(folder, 'results'))
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/^\d+ cores, Linux .+\nfile system: .+\nlog: .+flushed before each answer\n/)
  expect(stdout).toMatch(/aw create; node -e 0 .+ <= 2 +(met|missed)/)
  expect(stdout).toMatch(/create through the daemon; the call in process .+ <= 1\.3 +(met|missed)/)
  expect(stdout).toMatch(/create \+ destroy, empty.+ms.+ms +\d+\.\d\d/)
  expect(readdirSync(join(folder, 'results')).toSorted()).toEqual([
    'README.md',
    'cli.json',
    'daemon.json',
    'lifecycle.json',
  ])
  const written = readdirSync(join(folder, 'results')).map((name) =>
    readFileSync(join(folder, 'results', name), 'utf8'),
  )
  expect(written.filter((text) => text.includes(folder) || text.includes(inRoot('')))).toEqual([])
  expect(readdirSync(join(folder, 'place'))).toEqual([])
})

test('a benchmark that is not there is named', () => {
  expect(bench('speed')).toMatchObject({ status: 1, stderr: expect.stringContaining('no benchmark speed') as string })
})

test.each([
  [1.9, 2, 'met'],
  [2, 2, 'met'],
  [2.01, 2, 'missed'],
  [Number.NaN, 2, 'missed'],
  [Number.POSITIVE_INFINITY, 2, 'missed'],
  [100, null, '-'],
])('a ratio of %d with a goal of %j is %s', (ratio, goal, expected) => {
  expect(verdict({ ratio, goal })).toBe(expected)
})

test('each has as many turns as the others, and none the first one always', async () => {
  const turns: string[] = []
  const times = await compete(4, {
    one: () => turns.push('one'),
    other: { before: () => turns.push('before'), timed: () => turns.push('other') },
  })
  expect(turns.filter((name) => name === 'one')).toHaveLength(6)
  expect(turns.filter((name) => name === 'other')).toHaveLength(6)
  expect(turns.every((name, i) => name !== 'other' || turns[i - 1] === 'before')).toBe(true)
  expect([times.one, times.other].every((ms) => ms >= 0)).toBe(true)
})

test('what is missed is said', () => {
  const text = table([row('slow; fast', 30, 10, { goal: 2, note: 'a note' })])
  expect(text).toMatch(/slow; fast +30\.0 ms +10\.0 ms +3\.00 +<= 2 +missed +a note/)
})

test('a file system that flatters is named', () => {
  const facts = { cores: 2, kernel: '6.1', node: 'v24', fileSystem: 'ext4', log: 'here' }
  expect(header({ ...facts, journal: 'no' })).toContain('WITHOUT a journal')
})
