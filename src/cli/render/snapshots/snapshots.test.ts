import { describe, expect, test } from 'vitest'
import type { Outputs } from '../../../api/table.ts'
import { AwError } from '../../../domain/errors.ts'
import { people, sampleWorkspace, shown, snapshotId as id } from '../../../../test/support/cli.ts'
import { snapshotGraph } from './snapshot-graph.ts'

const narrow = { isTerminal: true, columns: 60 }

type Snapshot = Outputs['snapshots'][number]

const snapshot = (letter: string, more: Partial<Snapshot> = {}): Snapshot => ({
  id: id(letter),
  workspace: 'a/main',
  parent: null,
  branch: 'main',
  label: null,
  meta: {},
  key: null,
  reason: 'user',
  author: 'user:0',
  created_at: '2029-12-31T23:00:00.000Z',
  mechanism: 'copy',
  consistency: 'atomic',
  files_changed: 2,
  head: false,
  tips: [],
  ...more,
})

const made = (letter: string, more: Partial<Outputs['snapshot']> = {}): Outputs['snapshot'] => ({
  ...snapshot(letter),
  created: true,
  ...more,
})

const history = [
  snapshot('a', { label: 'tests pass', files_changed: null }),
  snapshot('b', { parent: id('a'), reason: 'safety' }),
  snapshot('c', { parent: id('a'), tips: ['idea'], reason: 'auto', consistency: 'fuzzy' }),
  snapshot('d', { parent: id('a') }),
  snapshot('e', { parent: id('d'), head: true, tips: ['main'] }),
]

describe('snapshots', () => {
  test('a terminal gets a tree: the way to the head is straight', async () => {
    expect((await shown(['snapshots', 'x'], history)).stdout.split('\n')).toEqual([
      'SNAPSHOT                             AGE  CHANGED',
      `○ ${id('a')}     1h        -  tests pass`,
      `├─○ ${id('b')}   1h        2  kept before a restore`,
      `├─○ ${id('c')}   1h        2  (idea) automatic, fuzzy`,
      `○ ${id('d')}     1h        2`,
      `● ${id('e')}     1h        2  (head, main)`,
      '',
    ])
  })

  test('a narrow one gets two lines for each', async () => {
    const lines: string[] = []
    const stdout = { ...narrow, write: async (chunk: string | Uint8Array) => void lines.push(String(chunk)) }
    await shown(['snapshots', 'x'], history, { ...people, stdout })
    expect(lines.join('').split('\n')).toEqual([
      `○ ${id('a')}  1h`,
      '│ tests pass',
      `├─○ ${id('b')}  1h, 2 changed`,
      '│   kept before a restore',
      `├─○ ${id('c')}  1h, 2 changed`,
      '│   (idea) automatic, fuzzy',
      `○ ${id('d')}  1h, 2 changed`,
      `● ${id('e')}  1h, 2 changed`,
      '  (head, main)',
      '',
    ])
  })

  test('a pipe gets a line for each, with tabs', async () => {
    const { stdout } = await shown(['snapshots', 'x'], history.slice(0, 2), {})
    const at = '2029-12-31T23:00:00.000Z'
    expect(stdout).toBe(`${id('a')}\t-\t${at}\tuser\t-\t-\ttests pass\n${id('b')}\t${id('a')}\t${at}\tsafety\t2\t-\t\n`)
    expect((await shown(['snapshots', 'x', '-q'], history.slice(0, 2), {})).stdout).toBe(`${id('a')}\n${id('b')}\n`)
  })

  test('sizes, and what cannot be told', async () => {
    const sized = [snapshot('a', { size_bytes: 2048, own_bytes: null })]
    expect((await shown(['snapshots', 'x', '--sizes'], sized)).stdout).toContain('2.0 KiB    -')
    expect((await shown(['snapshots', 'x', '--sizes'], sized, {})).stdout).toMatch(/\t2048\t-\n$/)
  })

  test('what is not listed is told', async () => {
    const fork = [snapshot('b', { parent: id('a') })]
    expect((await shown(['snapshots', 'x'], fork)).stdout).toMatch(/◌ snap_a+ .*what it was forked from\n○ snap_b+/)
    expect((await shown(['snapshots', 'x', '--limit', '1'], fork)).stdout).toContain('older, not shown')
    const base = snapshot('c', { parent: id('a'), base: true, head: true, workspace: 'o/main' })
    const own = await shown(['snapshots', 'x'], [base])
    expect(own.stdout.split('\n').slice(1)).toEqual([`● ${id('c')}   1h        2  (head, base) of o/main`, ''])
    expect(own.calls[0]?.input).toEqual({ id: 'x', base: true })
    expect((await shown(['snapshots', 'x'], [], {})).calls[0]?.input).toEqual({ id: 'x' })
    expect(await shown(['snapshots', 'x'], [])).toMatchObject({
      stdout: '',
      stderr: 'No snapshot of its own yet. Take one with: aw snapshot x\n',
    })
  })

  test('a line of thousands is not indented, nor are branches from each of them far', () => {
    const line = Array.from({ length: 20_000 }, (_, i) => ({
      id: String(i),
      parent: i === 0 ? null : String(i - 1),
      head: false,
    }))
    expect(new Set(snapshotGraph(line).map(({ graph }) => graph))).toEqual(new Set(['○ ']))
    const sides = line.flatMap((one) => [one, { id: `${one.id}x`, parent: one.id, head: false }])
    expect(new Set(snapshotGraph(sides).map(({ graph }) => graph))).toEqual(new Set(['○ ', '├─○ ']))
  })

  test('two beginnings have a mark between them', () => {
    const two = ['a', 'b'].map((letter) => ({ id: letter, parent: null, head: letter === 'a' }))
    expect(
      snapshotGraph(two).map(({ graph, at }) => graph + (at === null ? 'null' : (at as { id: string }).id)),
    ).toEqual(['◌ null', '├─○ b', '● a'])
  })
})

describe('one snapshot', () => {
  test('the id alone on standard output', async () => {
    expect(await shown(['snapshot', 'x'], made('a', { label: 'now' }), {})).toMatchObject({
      stdout: `${id('a')}\n`,
      stderr: '',
    })
    expect(await shown(['snapshot', 'x'], made('b', { label: 'now', parent: id('a') }))).toMatchObject({
      stdout: `${id('b')}\n`,
      stderr: 'Kept as "now", 2 paths changed since the one before, atomic\n',
    })
  })

  test('one that was kept before is not called new', async () => {
    const again = made('a', { key: 'turn-7', created: false })
    expect(await shown(['snapshot', 'x', '--key', 'turn-7'], again, {})).toMatchObject({
      stdout: `${id('a')}\n`,
      stderr: `Kept already with the key "turn-7", as ${id('a')}: nothing new was kept\n`,
    })
  })

  test('what people type instead of its commands', async () => {
    for (const [word, meant] of [
      ['rm', 'snapshot remove'],
      ['ls', 'snapshots'],
      ['list', 'snapshots'],
      ['lable', 'snapshot label'],
    ] as const)
      expect((await shown(['snapshot', word, 'x'], null)).stderr).toContain(`Did you mean aw ${meant}?`)
  })

  test('and if that is no workspace', async () => {
    const absent = (): never => {
      throw new AwError('workspace_not_found', 'There is no workspace list/main', { hint: 'aw list' })
    }
    expect(await shown(['snapshot', 'list'], absent)).toMatchObject({
      exit: 3,
      stderr: 'aw: There is no workspace list/main\n  hint: Did you mean aw snapshots?\n',
    })
  })

  test('a mixture is told everywhere', async () => {
    const { stdout, stderr } = await shown(['snapshot', 'x'], made('a', { consistency: 'fuzzy' }), {})
    expect([stdout, stderr]).toEqual([`${id('a')}\n`, expect.stringContaining('may be a mixture')])
  })

  test('what a snapshot could not hold is told of whatever is made of it', async () => {
    const warning = 'aw: what is in these btrfs subvolumes was not kept: work/sv, d\\x0a\n'
    const left_out = ['work/sv', 'd\n']
    const source = { kind: 'workspace', workspace: 'ws_2', name: 'o/main', snapshot: id('b'), left_out }
    const workspace = sampleWorkspace({ source })
    const forks = [{ name: 'x/main', ok: true, workspace, error: null }]
    const template = { name: 't', version: 1, variables: {}, source }
    for (const [argv, output] of [
      [['snapshot', 'x'], made('a', { meta: { left_out } })],
      [['fork', 'o', 'x'], { source: 'o/main', snapshot: id('b'), left_out, forks }],
      [['create', 'x', '--from-workspace', 'o'], workspace],
      [['template', 'create', 't', '--from-workspace', 'o'], template],
    ] as const)
      expect((await shown([...argv], output, {})).stderr).toBe(warning)
    expect((await shown(['show', 'x'], workspace, {})).stdout).toContain('began without\twork/sv, d\\x0a\n')
  })

  test('label and remove', async () => {
    const labelled = snapshot('a', { label: 'new' })
    expect((await shown(['snapshot', 'label', 'x', 'head', 'new'], labelled, {})).stdout).toBe(`${id('a')}\tnew\n`)
    expect(await shown(['snapshot', 'remove', 'x', 'a', 'b'], { removed: [id('a'), id('b')] })).toMatchObject({
      stdout: `${id('a')}\n${id('b')}\n`,
      stderr: 'Erased 2 snapshots for good\n',
    })
  })
})

describe('where it stands', () => {
  const standing = {
    workspace: 'a/main',
    head: snapshot('a', { label: 'l' }),
    branch: 'main',
    dirty: true,
    changes: 3,
    snapshots: 0,
  }

  test('describe is one line', async () => {
    expect((await shown(['describe', 'x'], standing)).stdout).toBe(
      `a/main on main at ${id('a')} "l" (1h): 3 paths changed since\n`,
    )
    expect((await shown(['describe', 'x'], standing, {})).stdout).toBe(`a/main\tmain\t${id('a')}\tchanged\t3\n`)
    expect((await shown(['describe', 'x'], { ...standing, dirty: false, changes: 0 })).stdout).toContain(
      'nothing changed since',
    )
    expect((await shown(['describe', 'x'], { ...standing, head: null })).stdout).toContain('no snapshot yet')
    const reset = await shown(['describe', 'x'], { ...standing, head: null, snapshots: 2 })
    expect(reset.stdout).toContain('has no head: its tree grew from none of its 2 snapshots')
    expect(reset.stderr).toContain('aw restore a/main SNAPSHOT')
  })

  test('branch has a star for the one that work goes on with', async () => {
    const branches = [
      { name: 'main', snapshot: id('a'), current: true },
      { name: 'idea', snapshot: null, current: false },
    ]
    expect((await shown(['branch', 'x'], { branch: 'main', moved: null, branches })).stdout).toBe(
      `*  main  ${id('a')}\n   idea  -\n`,
    )
    expect((await shown(['branch', 'x'], { branch: 'main', moved: null, branches }, {})).stdout).toBe(
      `*\tmain\t${id('a')}\n\tidea\t-\n`,
    )
    const moved = { name: 'idea', from: null, to: id('a') }
    const after = await shown(['branch', 'x', 'idea', '--at', 'head'], { branch: 'main', moved, branches }, {})
    expect(after.stderr).toBe(`idea was moved from nothing to ${id('a')}\n`)
  })

  test('show tells head, branch and where it came from', async () => {
    const lineage = {
      head: id('a'),
      base: id('b'),
      snapshots: 2,
      forked_from: { id: 'ws_2', name: 'o/main', snapshot: id('b'), at: '2029-12-31T23:00:00.000Z' },
      forks: [{ id: 'ws_3', name: 'f/main', snapshot: id('a') }],
      source: { kind: 'workspace', workspace: 'ws_2', name: 'o/main', snapshot: id('b') },
    }
    const { stdout } = await shown(['show', 'x'], sampleWorkspace(lineage), {})
    for (const line of [
      'source\tfork of o/main',
      'snapshots\t2',
      'branch\tmain',
      `head\t${id('a')}`,
      `base\t${id('b')}`,
      'forked from\to/main, 2029-12-31T23:00:00.000Z',
      `fork\tf/main at ${id('a')}`,
    ])
      expect(stdout).toContain(`${line}\n`)
  })
})
