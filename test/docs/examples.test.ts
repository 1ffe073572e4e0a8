/** The programs in examples/ are run as a reader would run them, on the built package and a home of their own. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inRoot } from '../../tools/root.ts'
import { launcher } from '../cli/built-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'aw-examples-'))
const bin = join(folder, 'bin')

beforeAll(() => {
  mkdirSync(bin)
  symlinkSync(launcher, join(bin, 'aw'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('')

/** What each one prints. */
const outputs: Readonly<Record<string, string>> = {
  'quick-start.ts': lines('quick-start/agent is ready', 'exists: false', 'notes: The clock is wrong'),
  'parallel-agents.ts': lines(
    ...Array.from({ length: 10 }, (_, number) => `agent-${number} was here`),
    '10 workspaces are in the trash',
  ),
  'watch-events.ts': lines(
    'workspace_create_started watched/agent',
    'workspace_created watched/agent',
    'workspace_labelled watched/agent',
    'workspace_destroy_started watched/agent',
    'workspace_cleanup watched/agent',
  ),
  'trash-and-undelete.ts': lines(
    'generation 2, draft there: false',
    'trash/before-reset: first draft',
    'in the trash: trash/agent, trash/before-reset',
    'applied: false, would erase: 0',
  ),
  'undo-and-forks.ts': lines(
    'changed work/plan.md',
    'added work/rewrite.ts',
    'undone: 1 changed, 1 removed; Look at the clock',
    'forks/origin: workspace_exists',
    'work/plan.md: -says forks/one +says forks/two',
    'forks/one comes from forks/origin',
  ),
  'batch-destroy.ts': lines(
    'batch/one destroyed',
    'batch/missing failed: workspace_not_found',
    'batch/two destroyed',
    'true false',
  ),
  'errors.ts': lines(
    'a taken name: workspace_exists, exit code 4, worth a retry: false',
    '  Take another name, or destroy it first: aw destroy errors/agent',
    'a missing workspace: workspace_not_found, exit code 3, worth a retry: false',
    '  See what there is: aw list',
    'a path that climbs out: path_traversal_attempt, exit code 5, worth a retry: false',
    'a path that is not there: file_not_found, exit code 3, worth a retry: false',
    'the metadata: path_protected, exit code 5, worth a retry: false',
    'a field that does not exist: invalid_input, exit code 2, worth a retry: false',
    '  Did you mean labels?',
    'a leased workspace: workspace_active, exit code 9, worth a retry: false',
    '  Wait for it, or accept the risk with --include-leased',
    'after the release: done',
  ),
  'from-shell.sh': lines(
    '"workspace_id":"shell/agent"',
    'shell/agent',
    'a second create ends with 4',
    'it is there',
    'Workspace destroyed',
    'hello',
    'Nothing to destroy',
  ),
  'from-python.py': lines('python/agent ready', 'workspace_exists 4', "['python/agent']", 'True', 'False'),
}

const interpreters: Readonly<Record<string, string>> = { ts: process.execPath, sh: 'sh', py: 'python3' }

test('every example has its output here', () => {
  expect(readdirSync(inRoot('examples')).toSorted()).toEqual(Object.keys(outputs).toSorted())
})

test.each(Object.entries(outputs))('%s', (name, expected) => {
  const home = join(folder, `home-of-${name}`)
  const { stdout, stderr, status } = spawnSync(
    interpreters[name.split('.').at(-1) ?? ''] ?? name,
    [inRoot(join('examples', name))],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
        HOME: folder,
        AW_HOME: home,
      },
    },
  )
  expect({ stdout, stderr, status }).toEqual({ stdout: expected, stderr: '', status: 0 })
  expect(existsSync(join(home, 'log.db'))).toBe(true)
})
