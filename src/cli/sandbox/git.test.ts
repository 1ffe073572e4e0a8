import { expect, test } from 'vitest'
import { echo } from '../../../test/support/client.ts'
import { runCli, type Scene } from '../../../test/support/cli.ts'

const scene: Scene = { answers: { exec: echo() }, stdin: 'a patch' }

test('all that follows the workspace is for git, which runs behind walls', async () => {
  const result = await runCli(['git', 'x', 'log', '--oneline', '-5', '--json'], scene)
  expect(result).toMatchObject({ exit: 0, stdout: 'a patch' })
  expect(result.calls).toMatchObject([
    { name: 'exec', input: { id: 'x', isolation: 'namespace', argv: ['git', 'log', '--oneline', '-5', '--json'] } },
  ])
  expect(result.calls[0]?.input).not.toHaveProperty('columns')
  const below = await runCli(['git', '--cwd', 'sub', 'x', '--', '-C', '..', 'status'], scene)
  expect(below.calls[0]?.input).toMatchObject({ id: 'x', cwd: 'sub', argv: ['git', '-C', '..', 'status'] })
})

test('on a terminal it has one', async () => {
  const result = await runCli(['git', 'x', 'log'], { ...scene, stdinIsTerminal: true, terminal: true })
  expect(result.calls[0]?.input).toMatchObject({ argv: ['git', 'log'], columns: 100, rows: 30 })
})

test('it has no flag for other walls, and must know where', async () => {
  expect((await runCli(['git', '--isolation', 'none', 'x', 'status'], scene)).stderr).toContain('There is no flag')
  expect(await runCli(['git'], scene)).toMatchObject({ exit: 125, calls: [] })
})
