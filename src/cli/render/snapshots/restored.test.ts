import { describe, expect, test } from 'vitest'
import type { Outputs } from '../../../api/table.ts'
import type { CallContext } from '../../../ports/manager.ts'
import { people, sampleWorkspace, shown, snapshotId as id } from '../../../../test/support/cli.ts'

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
    differences: [
      { path: 'f1', change: 'renamed', from: 'f0' },
      ...['f2', 'f3', 'f4', 'f\u001b5', 'f6'].map((path) => ({ path, change: 'changed' as const, from: null })),
    ],
    split: [],
    ended: false,
  }

  test('what happened, the first paths, and the way back', async () => {
    const first = `a/main is as in ${id('a')} now: 1 came back, 5 changed, 1 removed\n`
    expect(await shown(['restore', 'x', 'y'], done)).toMatchObject({
      stdout: `${first}  R  f0 → f1\n  M  f2\n  M  f3\n  M  f4\n  M  f\\x1b5\n  and 1 more\n`,
      stderr: `What was there is kept. Take it back with: aw restore a/main ${id('b')}\n`,
    })
    const split = { ...done, paths: ['f1'], added: 0, removed: 0, changed: 0, differences: [], split: ['f\u001b1'] }
    expect((await shown(['restore', 'x', 'y', '--path', 'f1'], split)).stdout).toBe(
      `1 path of a/main is as in ${id('a')}; nothing had to change\n` +
        'f\\x1b1 is a file of its own now: its other names were not restored with it\n',
    )
    expect((await shown(['undo', 'x', '-q'], done)).stdout).toBe('')
  })

  test('the way back is told in a pipe too, unless it is to be quiet', async () => {
    for (const scene of [people, {}]) {
      const later = `; later with: aw restore a/main ${id('b')}\n`
      expect((await shown(['undo', 'x'], done, scene)).stderr).toBe(`Take it back with: aw redo a/main${later}`)
      expect((await shown(['redo', 'x'], { ...done, kept: null }, scene)).stderr).toBe(
        'Take it back with: aw undo a/main\n',
      )
      expect((await shown(['restore', 'x', 'y'], done, scene)).stderr).toContain(`aw restore a/main ${id('b')}\n`)
      expect((await shown(['restore', 'x', 'y', '-q'], done, scene)).stderr).toBe('')
    }
  })

  test('a branch: where work goes on', async () => {
    const { stdout } = await shown(['restore', 'x', '--branch', 'idea'], { ...done, branch: 'idea' }, {})
    expect(stdout).toMatch(/\nWork goes on with idea\n$/)
  })

  test('paths, and nothing at all', async () => {
    const two = { ...done, paths: ['f1', 'f2'], added: 0, removed: 0, changed: 2, changes: ['f1', 'f2'] }
    expect((await shown(['restore', 'x', 'y', '--path', 'f1', '--path', 'f2'], two, {})).stdout).toBe(
      `2 paths of a/main are as in ${id('a')} now: 2 changed\n`,
    )
    for (const kept of [id('b'), null])
      expect((await shown(['undo', 'x'], { ...two, kept }, {})).stderr).toBe(
        `Take it back with: aw restore a/main ${kept ?? 'head'}\n`,
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
    // One that was told as it was made is not told again.
    const early = (_: unknown, { onProgress }: CallContext): typeof output => {
      onProgress?.({ phase: 'forking', made: { name: 'f/one', path: '/w/one' } })
      return output
    }
    expect((await shown(args, early, {})).stdout).toBe('/w/one\n')
    expect(JSON.parse((await shown([...args, '--json'], early, {})).stdout)).toEqual(output)
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
    expect(broken.stderr).toContain(`aw snapshot remove a/main ${id('b')}`)
    expect(broken.stdout).toContain(`  ✗ ${id('b')}: f: changed\n1 of 2 snapshots damaged\n`)
    expect(await shown(['verify'], { intact: false, snapshots: [good, bad] }, {})).toMatchObject({
      exit: 1,
      stdout: `${id('a')}\tintact\t2\t2048\thashes\ta/main\n${id('b')}\tf: changed\t2\t2048\thashes\ta/main\n`,
    })
  })

  test('what could not be checked is not called intact', async () => {
    const none = await shown(['verify'], { intact: null, snapshots: [{ ...good, method: 'none' }] })
    expect(none).toMatchObject({ exit: 0, stdout: expect.stringContaining('1 snapshot not checked') as string })
    expect(none.stderr).toContain('Nothing to compare with')
    expect((await shown(['verify'], { intact: true, snapshots: [] })).stderr).toContain('no snapshots to check')
  })
})
