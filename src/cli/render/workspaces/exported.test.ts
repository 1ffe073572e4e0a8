import { expect, test } from 'vitest'
import { people, runCli, type Scene } from '../../../../test/support/cli.ts'

const shown = (args: readonly string[], output: object, scene: Scene = people) =>
  runCli(['export', 'x', ...args], { ...scene, answers: { export: output } })

const about = { file: null, workspace: 'x/main', snapshot: 'snap_1', files: 2, ignored: 0, left_out: [] }
const commit = 'a'.repeat(40)

test('a patch is bytes on standard output; what is not in it is said', async () => {
  const patch = new Uint8Array(Buffer.from('diff --git a/x b/x\n'))
  const told = await shown(['--patch'], { ...about, format: 'patch', patch, ignored: 1 }, {})
  expect(told.calls).toMatchObject([{ input: { of: 'x', patch: true } }])
  expect(told.stdout).toBe('diff --git a/x b/x\n')
  expect(told.stderr).toBe('aw: 1 thing that git ignores left out; --ignored takes them along\n')
  const asJson = await shown(['--patch', '--json'], { ...about, format: 'patch', patch }, {})
  expect(JSON.parse(asJson.stdout)).toMatchObject({ patch: Buffer.from(patch).toString('base64') })
  const file = await shown(['--patch', '/p'], { ...about, format: 'patch', file: '/p' })
  expect(file).toMatchObject({ stdout: '/p\n', stderr: 'x/main as it is in snap_1: 2 files changed\n' })
  expect(file.calls).toMatchObject([{ input: { file: '/p', patch: true } }])
  expect((await shown(['--patch', '-'], { ...about, format: 'patch', patch })).calls).toMatchObject([
    { input: { file: '-', patch: true } },
  ])
})

test('on a terminal a patch can do nothing to it', async () => {
  const patch = new Uint8Array(Buffer.from('diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\u001b[2Jb\n'))
  const told = await shown(['--patch'], { ...about, format: 'patch', patch })
  expect(told.stdout).toBe(String.raw`diff --git a/x b/x
--- a/x
+++ b/x
@@ -1 +1 @@
-a
+\x1b[2Jb
`)
})

test('a branch is told by its commit, and where it begins', async () => {
  const made = { ...about, format: 'branch', branch: 'b', commit, commits: 2, onto: 'b'.repeat(40), history: true }
  const told = await shown(['--branch', 'b', '--repo', '/r'], { ...made, changed: true, before: null })
  expect(told).toMatchObject({ stdout: `${commit}\n`, stderr: 'branch b: 2 commits on bbbbbbbbbbbb\n' })
  const left = [{ path: 'pipe', reason: 'fifo' }]
  const alone = { ...made, commits: 1, onto: null, history: false, changed: true, left_out: left }
  expect((await shown(['--branch', 'b', '--repo', '/r'], alone)).stderr).toBe(
    'aw: left out: pipe (fifo)\nbranch b: 1 commit on nothing: it has no parent, without the history of the workspace\n',
  )
})

test('a bundle is told by its file', async () => {
  const made = {
    ...about,
    format: 'bundle',
    file: '/b',
    branch: 'x/main',
    commit,
    commits: 1,
    onto: null,
    history: true,
  }
  expect(await shown(['--bundle', '/b'], made)).toMatchObject({ stdout: '/b\n' })
})
