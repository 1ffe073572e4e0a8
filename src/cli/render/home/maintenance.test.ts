import { expect, test } from 'vitest'
import { operations } from '../../../api/table.ts'
import { runCli, type Scene } from '../../../../test/support/cli.ts'

const shown = async (args: readonly string[], output: unknown): Promise<string> => {
  const name = operations.map((entry) => entry.name).find((known) => args.join(' ').startsWith(known)) ?? ''
  const { exit, stdout, stderr } = await runCli(args, { answers: { [name]: output } })
  expect(exit).toBeLessThan(2)
  return stdout + stderr
}
const onTerminal: Scene = { terminal: true, env: { NO_COLOR: '1' } }

test('gc', async () => {
  const named = { tree: 'ws_1.1', workspace: 'a/main', shared: null }
  const tree = { kind: 'tree', action: 'erase', ...named, archive: null, error: null }
  const items = [{ ...tree, reason: 'destroyed 8 days ago', bytes: 2048 }]
  const space = { used_percent: 50, high_percent: null, low_percent: null, warning: null }
  const plan = { applied: false, items, kept: [], bytes: 2048, later_bytes: 0, space }
  expect(await shown(['gc', '--plan'], plan)).toBe(
    'a/main\ttrash\t2.0 KiB\tdestroyed 8 days ago\nWould erase 1 thing, 2.0 KiB\n',
  )
  const args = ['gc', '--older-than', '0s', '--plan']
  const warned = { ...plan, space: { ...space, warning: 'The storage is 93% full' } }
  const { stderr } = await runCli(args, { ...onTerminal, answers: { gc: warned } })
  expect(stderr).toMatch(/The storage is 93% full\n.*Do it with: aw gc --older-than 0s\n$/s)
  const piped = await runCli(['gc'], { answers: { gc: warned } })
  expect(piped.stderr).toContain('The storage is 93% full')
  expect(await shown(['gc'], { ...plan, applied: true, items: [], bytes: 0 })).toBe('Nothing to erase\n')
  const moved = { ...tree, kind: 'workspace', action: 'trash', reason: 'not used for 31 days', bytes: 1024 }
  const kept = [{ kind: 'workspace', tree: 'ws_2', workspace: 'b/main', shared: null, reason: 'it has the label keep' }]
  expect(await shown(['gc'], { ...plan, applied: true, items: [moved], kept, bytes: 0, later_bytes: 1024 })).toBe(
    'a/main\tworkspace\t1.0 KiB\tnot used for 31 days\n! b/main stays: it has the label keep\n' +
      'Erased 0 things, 0 B; moved 1 workspace to the trash, 1.0 KiB\n',
  )
})

test('gc on a narrow terminal keeps every word of why, and calls a shared area by its name', async () => {
  const tree = { kind: 'tree', action: 'erase', workspace: null, bytes: 2048, archive: null, error: null }
  const reason =
    'shared area node-modules-cache, removed 12 days ago; what is in the trash stays for 7 days at the most'
  const shared = { ...tree, tree: 'shared_01hzx5k8w40000000000000006', shared: 'node-modules-cache', reason }
  const other = { ...tree, tree: 'ws_1.1', shared: null, workspace: 'a/main', reason: 'destroyed 8 days ago' }
  const space = { used_percent: 50, high_percent: null, low_percent: null, warning: null }
  const report = { applied: false, items: [shared, other], kept: [], bytes: 4096, later_bytes: 0, space }
  const written: string[] = []
  const stdout = {
    isTerminal: true,
    columns: 80,
    write: async (chunk: string | Uint8Array) => void written.push(String(chunk)),
  }
  await runCli(['gc', '--plan'], { ...onTerminal, stdout, answers: { gc: report } })
  expect(written.join('').split('\n')).toEqual([
    'WHAT                            KIND      SIZE',
    'shared area node-modules-cache  trash  2.0 KiB',
    '    shared area node-modules-cache, removed 12 days ago; what is in the trash',
    '    stays for 7 days at the most',
    'a/main                          trash  2.0 KiB',
    '    destroyed 8 days ago',
    'Would erase 2 things, 4.0 KiB',
    '',
  ])
})

test('recover', async () => {
  const empty = { relinked: [], lost: [], orphans: [], leftovers: [] }
  const nothing = { recovered: [], busy: [], failed: [], found: [], ...empty }
  expect(await shown(['recover'], nothing)).toBe('Nothing to recover: log and disk agree\n')
  expect(await shown(['recover'], { ...nothing, lost: ['a/main'] })).toContain(
    'a/main: a tree or a snapshot of it is gone',
  )
  const unknown = { recover: { ...nothing, orphans: ['volumes/x'] } }
  const { stdout, stderr } = await runCli(['recover'], { ...onTerminal, answers: unknown })
  expect(stdout).toContain('volumes/x: on disk but not in the log; kept')
  expect(stderr).toContain('aw recover TREE --as TASK/AGENT')
  const made = { workspace_id: 'a/main', path: '/home/a/main' }
  expect(await shown(['recover', 'volumes/x', '--as', 'a'], { ...nothing, made })).toContain(
    'a/main: a workspace now, at /home/a/main',
  )
})
