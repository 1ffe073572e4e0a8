import { expect, test } from 'vitest'
import { shown } from '../../../../test/support/cli.ts'

test('an export is told with the digest that proves it; a pipe gets the file alone', async () => {
  const output = {
    format: 'archive',
    file: '/a.aw',
    workspace: 'x/main',
    snapshot: 'snap_1',
    files: 5,
    bytes: 733,
    digest: 'abc',
  }
  const told = await shown(['export', 'x', '/a.aw'], output)
  expect(told).toMatchObject({
    stdout: '/a.aw\n',
    stderr: 'x/main as it is in snap_1: 5 things, 733 B\ndigest abc\n',
  })
  expect(await shown(['export', 'x', '/a.aw'], output, {})).toMatchObject({ stdout: '/a.aw\n', stderr: '' })
})

test('shared areas, and those in the trash with the way back', async () => {
  const area = { name: 'models', task: null, path: '/h/shared/models', created_at: '2029-12-31T22:00:00.000Z' }
  expect((await shown(['shared', 'list'], [area])).stdout).toContain('/h/shared/models')
  const trashed = await shown(['shared', 'list', '--trashed'], [{ ...area, path: null, trash: 'shared_1' }])
  expect(trashed.stdout).toMatch(/TRASH\nmodels .*shared_1\n/)
  expect(trashed.stderr).toBe('Bring one back with: aw shared undelete TRASH\n')
  expect((await shown(['shared', 'list', '--trashed'], [])).stderr).toBe('No shared areas in the trash\n')
  const removed = await shown(['shared', 'remove', 'models'], { removed: true, trash: 'shared_1' })
  expect(removed.stderr).toBe('Bring it back with: aw shared undelete shared_1\n')
  expect((await shown(['shared', 'undelete', 'shared_1'], area)).stdout).toBe('/h/shared/models\n')
})

test('what was left out, what came with less and what could not be added to are told apart', async () => {
  const imported = {
    skipped: 1,
    skipped_paths: [{ path: 'pipe', reason: 'fifo' }],
    reduced: 4,
    reduced_paths: ['a', 'b', 'c', 'd'].map((path) => ({ path, reason: 'setuid' })),
    untouched_paths: [{ path: 'CLAUDE.md', reason: 'symlink_outside_workspace' }],
  }
  expect((await shown(['create', 'x'], { path: '/x', imported }, {})).stderr).toBe(
    'aw: 1 of the source not copied: pipe (fifo); ' +
      '4 of the source made with less: a (setuid), b (setuid), c (setuid) and 1 more; ' +
      'nothing added to CLAUDE.md (symlink_outside_workspace)\n',
  )
})

test('that --full brought less than all is told', async () => {
  const source = { kind: 'git', cut: true }
  const { stdout, stderr } = await shown(['create', 'x', '--repo', '/r', '--full'], {
    path: '/p',
    imported: null,
    source,
  })
  expect(stdout).toBe('/p\n')
  expect(stderr).toBe('aw: the repository is a shallow clone itself: its history ends here where it ends there\n')
})

test('files of git-lfs are told, one as one', async () => {
  const told = async (lfs: number): Promise<string> =>
    (await shown(['create', 'x', '--repo', '/r'], { path: '/p', imported: null, source: { kind: 'git', lfs } })).stderr
  expect(await told(1)).toBe('aw: 1 of its files is kept by git-lfs, and is a pointer here\n')
  expect(await told(2)).toBe('aw: 2 of its files are kept by git-lfs, and are pointers here\n')
})

test('a copy without a file in it says why that may be', async () => {
  const link = await shown(['cp', 'x:work/link', '/tmp/'], { files: 0, bytes: 0, skipped: [] })
  expect(link.stdout).toBe('0 files, 0 B\n')
  expect(link.stderr).toMatch(/^No file is in it\. A link/)
  const skipped = [{ path: 'pipe', reason: 'fifo' }]
  const pipe = await shown(['cp', 'x:work/pipe', '/tmp/'], { files: 0, bytes: 0, skipped })
  expect(pipe.stderr).toBe('aw: left out: pipe (fifo)\n')
  expect((await shown(['cp', 'x:work/f', '/tmp/'], { files: 1, bytes: 2, skipped: [] })).stderr).toBe('')
})

test('bases have as much of their name on a terminal as is needed to remove them, and room for where they are from', async () => {
  const base = (name: string, from: string, bytes: number | null = null) => ({
    name,
    source: { kind: 'folder', path: from },
    profile: 'aw',
    created_at: '2029-12-31T22:00:00.000Z',
    used_by: ['fix-login/claude'],
    bytes,
  })
  const all = [
    base(`git-${'0123456789abcdef'.repeat(2)}`, '/home/me/projects/one'),
    base(`folder-${'fedcba9876543210'.repeat(2)}-1`, '/home/me/projects/two'),
    base('template-web-1', '/home/me/projects/web'),
  ]
  const { stdout } = await shown(['bases', 'list'], all)
  expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
    'NAME            AGE  USED BY           SOURCE',
    'git-01234567     2h  fix-login/claude  folder /home/me/projects/one',
    'folder-fedcb     2h  fix-login/claude  folder /home/me/projects/two',
    'template-web-1   2h  fix-login/claude  folder /home/me/projects/web',
    '',
  ])
  const piped = await shown(['bases', 'list'], all, {})
  expect(piped.stdout).toContain(
    `git-${'0123456789abcdef'.repeat(2)}\t-\t2h\tfix-login/claude\tfolder /home/me/projects/one\n`,
  )
  expect(
    (
      await shown(
        ['bases', 'list', '--sizes'],
        all.map((one) => ({ ...one, bytes: 5 })),
      )
    ).stdout,
  ).toContain('SIZE')
})
