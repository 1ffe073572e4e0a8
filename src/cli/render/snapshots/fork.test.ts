import { expect, test } from 'vitest'
import { runCli } from '../../../../test/support/cli.ts'

test('a fork that could not be made is told with its name, once', async () => {
  const failed = (name: string, code: string, message: string) => ({ name, workspace: null, error: { code, message } })
  const forks = [
    failed('a/main', 'workspace_exists', 'a/main exists already'),
    failed('b/main', 'disk_full', 'The disk is full'),
  ]
  const fork = { source: 'x/main', snapshot: 'snap_1', forks }
  const { exit, stderr } = await runCli(['fork', 'x', 'a', 'b'], { answers: { fork } })
  expect(exit).toBe(4)
  expect(stderr).toContain('aw: a/main exists already\n')
  expect(stderr).toContain('aw: b/main: The disk is full\n')
})
