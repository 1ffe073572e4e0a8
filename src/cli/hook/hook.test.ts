import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { AwError } from '../../domain/errors.ts'
import { ClosedOutput } from '../io.ts'
import { runCli, sampleWorkspace, type Scene } from '../../../test/support/cli.ts'

const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'aw-hook-')))
afterAll(() => rmSync(folder, { recursive: true }))

const made = sampleWorkspace({ workspace_id: 'web/x', id: 'ws_1', path: folder })
const answers = { create: made, path: { path: folder }, paths: { content: folder }, destroy: { removed: true } }
const payload = (more: object = {}): string =>
  JSON.stringify({ hook_event_name: 'WorktreeCreate', session_id: 's-1', name: 'x', cwd: folder, ...more })
const hook = (scene: Scene) => runCli(['hook', 'claude'], { answers, stdin: payload(), ...scene })
const called = ({ calls }: Awaited<ReturnType<typeof hook>>): string[] => calls.map(({ name }) => name)

test('the path is all that is printed', async () => {
  const result = await hook({})
  expect(result).toMatchObject({ exit: 0, stdout: `${folder}\n`, stderr: '', disposed: 1 })
  expect(result.calls[0]?.input).toMatchObject({
    profile: 'repo',
    from: { folder, ignored: 'all' },
    labels: { 'claude.worktree': 'x', 'claude.session': 's-1', 'claude.cwd': folder },
  })
})

test('nobody reads the path any more: the workspace goes to the trash', async () => {
  const write = async (): Promise<void> => Promise.reject(new ClosedOutput('EPIPE'))
  const result = await hook({ stdout: { isTerminal: false, columns: 80, write } })
  expect(called(result)).toEqual(['create', 'path', 'paths', 'destroy'])
  expect(result.exit).toBe(1)
})

test.each([
  ['has no path here', { path: thrown('path_not_visible') }],
  ['has a path that cannot be a line', { paths: { content: `${folder}/not there` } }],
])('one that %s goes to the trash too', async (_, less) => {
  const result = await hook({ answers: { ...answers, ...less } })
  expect(result).toMatchObject({ exit: 1, stdout: '' })
  expect(called(result).at(-1)).toBe('destroy')
})

test('a name that is taken gets a few letters more, and one that never comes free is an error', async () => {
  const ids: string[] = []
  const create = (input: { id: string }): unknown => {
    ids.push(input.id)
    if (ids.length < 3) throw new AwError('workspace_exists', 'It exists')
    return made
  }
  expect(await hook({ answers: { ...answers, create } })).toMatchObject({ exit: 0 })
  expect(ids.map((id) => id.replace(/^[^/]+/, ''))).toEqual([
    '/x',
    expect.stringMatching(/^\/x-\w{6}$/),
    expect.stringMatching(/^\/x-\w{6}$/),
  ])
  const never = await hook({ answers: { ...answers, create: thrown('workspace_exists') } })
  expect(never).toMatchObject({ exit: 1, stdout: '' })
})

test('what the user types', async () => {
  expect(await runCli(['hook', 'claude'], { stdinIsTerminal: true })).toMatchObject({
    exit: 1,
    connections: [],
    stderr: expect.stringContaining('aw hook install claude') as string,
  })
  for (const args of [
    [],
    ['codex'],
    ['install'],
    ['install', 'codex'],
    ['claude', '--yes'],
    ['install', 'claude', 'x'],
  ])
    expect(await runCli(['hook', ...args])).toMatchObject({ exit: 2, connections: [] })
})

function thrown(code: 'path_not_visible' | 'workspace_exists'): () => never {
  return () => {
    throw new AwError(code, 'So it is')
  }
}
