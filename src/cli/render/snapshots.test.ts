import { describe, expect, test } from 'vitest'
import { operations, type OperationName, type Outputs } from '../../api/table.ts'
import { runCli, sampleWorkspace, type Result, type Scene } from '../testing.ts'
import { snapshotGraph } from './snapshot-graph.ts'

const people: Scene = { terminal: true, env: { NO_COLOR: '1' } }
const narrow = { isTerminal: true, columns: 60 }

/** What `aw` prints when the core answers so. */
async function shown(args: readonly string[], output: unknown, scene: Scene = people): Promise<Result> {
  const line = args.join(' ')
  const fits = operations.map(({ name }): OperationName => name).filter((name) => `${line} `.startsWith(`${name} `))
  const longest = fits.toSorted((a, b) => b.length - a.length)[0] ?? ''
  return runCli(args, { ...scene, answers: { [longest]: output } })
}

const id = (letter: string): string => `snap_${letter.repeat(26)}`

type Snapshot = Outputs['snapshot']

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
    expect(await shown(['snapshot', 'x'], snapshot('a', { label: 'now' }), {})).toMatchObject({
      stdout: `${id('a')}\n`,
      stderr: '',
    })
    expect(await shown(['snapshot', 'x'], snapshot('b', { label: 'now', parent: id('a') }))).toMatchObject({
      stdout: `${id('b')}\n`,
      stderr: 'Kept as "now", 2 paths changed since the one before, atomic\n',
    })
  })

  test('a mixture is told everywhere', async () => {
    const { stdout, stderr } = await shown(['snapshot', 'x'], snapshot('a', { consistency: 'fuzzy' }), {})
    expect([stdout, stderr]).toEqual([`${id('a')}\n`, expect.stringContaining('may be a mixture')])
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
  const standing = { workspace: 'a/main', head: snapshot('a', { label: 'l' }), branch: 'main', dirty: true, changes: 3 }

  test('describe is one line', async () => {
    expect((await shown(['describe', 'x'], standing)).stdout).toBe(
      `a/main on main at ${id('a')} "l" (1h): 3 paths changed since\n`,
    )
    expect((await shown(['describe', 'x'], standing, {})).stdout).toBe(`a/main\tmain\t${id('a')}\tchanged\t3\n`)
    expect((await shown(['describe', 'x'], { ...standing, dirty: false, changes: 0 })).stdout).toContain(
      'nothing changed since',
    )
    expect((await shown(['describe', 'x'], { ...standing, head: null })).stdout).toContain('no snapshot yet')
  })

  test('branch has a star for the one that work goes on with', async () => {
    const branches = [
      { name: 'main', snapshot: id('a'), current: true },
      { name: 'idea', snapshot: null, current: false },
    ]
    expect((await shown(['branch', 'x'], { branch: 'main', branches })).stdout).toBe(
      `*  main  ${id('a')}\n   idea  -\n`,
    )
    expect((await shown(['branch', 'x'], { branch: 'main', branches }, {})).stdout).toBe(
      `*\tmain\t${id('a')}\n\tidea\t-\n`,
    )
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

describe('restore, undo, redo', () => {
  const done: Outputs['restore'] = {
    workspace: 'a/main',
    snapshot: id('a'),
    branch: 'main',
    kept: id('b'),
    paths: null,
    added: 1,
    changed: 5,
    removed: 1,
    changes: ['f1', 'f2', 'f3', 'f4', 'f\u001b5', 'f6', 'f7'],
  }

  test('what happened, the first paths, and the way back', async () => {
    const first = `a/main is as in ${id('a')} now: 1 came back, 5 changed, 1 removed\n`
    expect(await shown(['restore', 'x', 'y'], done)).toMatchObject({
      stdout: `${first}  f1\n  f2\n  f3\n  f4\n  f\\x1b5\n  and 2 more\n`,
      stderr: `What was there is kept. Go back with: aw restore a/main ${id('b')}\n`,
    })
    expect(await shown(['restore', 'x', 'y'], done, {})).toMatchObject({ stdout: first, stderr: '' })
    expect((await shown(['undo', 'x'], done)).stderr).toBe('Take it back with: aw redo a/main\n')
    expect((await shown(['redo', 'x'], done)).stderr).toBe('Take it back with: aw undo a/main\n')
    expect((await shown(['undo', 'x', '-q'], done)).stdout).toBe('')
  })

  test('paths, and nothing at all', async () => {
    const two = { ...done, paths: ['f1', 'f2'], added: 0, removed: 0, changed: 2, changes: ['f1', 'f2'] }
    expect((await shown(['restore', 'x', 'y', '--path', 'f1', '--path', 'f2'], two, {})).stdout).toBe(
      `2 paths of a/main are as in ${id('a')} now: 2 changed\n`,
    )
    const none = { ...done, added: 0, removed: 0, changed: 0, changes: [] }
    expect(await shown(['restore', 'x', 'y'], none)).toMatchObject({
      stdout: `a/main is as in ${id('a')}; nothing had to change\n`,
      stderr: '',
    })
  })
})

describe('fork', () => {
  const forks = [
    { name: 'f/one', ok: true, workspace: sampleWorkspace({ workspace_id: 'f/one', path: '/w/one' }), error: null },
    { name: 'f/two', ok: false, workspace: null, error: { code: 'workspace_exists', message: 'Taken', hint: 'Wait' } },
    { name: 'f/six', ok: false, workspace: null, error: { code: 'disk_full', message: 'Full', hint: null } },
  ]
  const output = { source: 'a/main', snapshot: id('a'), forks }

  test('paths on standard output, failures beside, the first of them in the exit code', async () => {
    const args = ['fork', 'x', 'f/one', 'f/two', 'f/six']
    expect(await shown(args, output, {})).toMatchObject({
      exit: 4,
      stdout: '/w/one\n',
      stderr: 'aw: f/two: Taken\n  hint: Wait\naw: f/six: Full\n',
    })
    expect((await shown([...args, '-q'], output, {})).stdout).toBe('/w/one\n')
    const json = await shown([...args, '--json'], output, {})
    expect(json).toMatchObject({ exit: 4, stderr: '' })
    expect(JSON.parse(json.stdout)).toEqual(output)
    expect(await shown(args, { ...output, forks: forks.slice(0, 1) })).toMatchObject({
      exit: 0,
      stderr: `1 fork of a/main at ${id('a')}\n`,
    })
  })
})

describe('verify', () => {
  const good = { snapshot: id('a'), workspace: 'a/main', method: 'hashes', files: 2, bytes: 2048, problems: [] }
  const bad = { ...good, snapshot: id('b'), problems: [{ path: 'f', message: 'changed' }] }

  test('a table, and the exit code tells', async () => {
    const intact = await shown(['verify'], { intact: true, snapshots: [good] })
    expect(intact).toMatchObject({ exit: 0, stdout: expect.stringContaining('1 snapshot intact\n') as string })
    const broken = await shown(['verify'], { intact: false, snapshots: [good, bad] })
    expect(broken.exit).toBe(1)
    expect(broken.stdout).toContain(`  ✗ ${id('b')}: f: changed\n1 of 2 snapshots damaged\n`)
    expect(await shown(['verify'], { intact: false, snapshots: [good, bad] }, {})).toMatchObject({
      exit: 1,
      stdout: `${id('a')}\tintact\t2\t2048\thashes\ta/main\n${id('b')}\tf: changed\t2\t2048\thashes\ta/main\n`,
    })
  })

  test('what could not be checked is not called intact', async () => {
    const none = await shown(['verify'], { intact: true, snapshots: [{ ...good, method: 'none' }] })
    expect(none).toMatchObject({ exit: 0, stdout: expect.stringContaining('none was checked') as string })
    expect((await shown(['verify'], { intact: true, snapshots: [] })).stderr).toContain('no snapshots to check')
  })
})
