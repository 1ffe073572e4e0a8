import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { operations } from '../../api/table.ts'
import { shownFlags } from '../input/flags.ts'
import { runCli, sampleWorkspace } from '../../../test/support/cli.ts'

const sh = promisify(execFile)
const script = async (shell: string): Promise<string> => {
  const result = await runCli(['completion', shell])
  expect(result).toMatchObject({ exit: 0, stderr: '' })
  return result.stdout
}

/** What bash offers when Tab is pressed at the end of these words. */
async function offered(...words: string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'aw-completion-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'aw.bash'), await script('bash'))
  await writeFile(join(folder, 'aw'), '#!/bin/sh\nwhile [ "$1" != __names ]; do shift; done\necho "$2-1/main$3"\n')
  await chmod(join(folder, 'aw'), 0o755)
  // A bash without SHLVL takes a socket as its input for a remote login, and reads a file of the machine's.
  const ask = 'source aw.bash; COMP_WORDS=(aw "$@"); COMP_CWORD=$#; _aw; printf "%s\\n" "${COMPREPLY[@]}"'
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` }
  const { stdout, stderr } = await sh('bash', ['--norc', '-uc', ask, 'bash', ...words], { cwd: folder, env })
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

describe('bash, run for real', () => {
  test.each<[string[], string[]]>([
    [['cr'], ['create']],
    [['ch'], ['check']],
    [
      ['fs', 're'],
      ['read', 'resolve', 'remove'],
    ],
    [
      ['list', '--tas'],
      ['--task', '--task-id'],
    ],
    [['list', '--state', 're'], ['ready']],
    [['list', '--state', '=', 're'], ['ready']],
    [['--home', '/h', 'list', '--state', 're'], ['ready']],
    [
      ['--format', ''],
      ['text', 'json'],
    ],
    [['--ver'], ['--version']],
    [['show', ''], ['live-1/main']],
    [['show', '--id', ''], ['live-1/main']],
    [['destroy', 'a', 'b', ''], ['live-1/maina']],
    [['undelete', ''], ['trashed-1/main']],
    [['list', ''], ['tasks-1/main']],
    [['create', ''], ['']],
    [['create', 'x', '--from', ''], ['']],
    [['fs', 'read', 'x', ''], ['']],
    [['completion', 'z'], ['zsh']],
    [['help', 'destr'], ['destroy']],
    [['label', 'x', '--set', ''], ['']],
    [
      ['snapshot', ''],
      ['label', 'remove', 'live-1/main'],
    ],
    [['snapshot', 'li'], ['live-1/main']],
    [['snapshot', 'remove', 'x', 'y', ''], ['snapshots-1/mainx']],
    [['restore', 'x', ''], ['snapshots-1/mainx']],
    [['restore', 'x', '--branch', ''], ['branches-1/mainx']],
    [['diff', 'x', ''], ['live-1/mainx']],
    [['fork', 'x', 'y', ''], ['']],
    [['create', 'x', '--from-workspace', ''], ['live-1/mainx']],
    [['create', 'x', '--from-workspace', 'y', '--at', ''], ['snapshots-1/mainy']],
    [['fork', 'x', '--at', ''], ['snapshots-1/mainx']],
    [['create', 'x', '--profile', 'i'], ['ipa']],
    [['usage', ''], ['live-1/main']],
    [['usage', 'x', ''], ['live-1/mainx']],
    [['create', 'x', '--template', ''], ['templates-1/mainx']],
    [['template', 'show', ''], ['templates-1/main']],
    [['template', 'log', ''], ['templates-1/main']],
    [['template', 'update', ''], ['templates-1/main']],
    [['template', 'remove', ''], ['templates-1/main']],
    [['template', 'create', ''], ['']],
    [['bases', 'remove', ''], ['bases-1/main']],
    [['shared', 'remove', ''], ['shared-1/main']],
    [['shared', 'create', ''], ['']],
    [['shared', 'undelete', ''], ['shared-trashed-1/main']],
    [['export', 'li'], ['live-1/main']],
    [['import', 'aw.'], ['aw.bash']],
    [['cp', 'li'], ['live-1/main:']],
    [['cp', 'aw.'], ['aw.bash']],
    [['cp', 'aw.bash', 'li'], ['live-1/main:']],
    [['cp', 'live-1/main', ':', ''], ['']],
    [['exec', ''], ['live-1/main']],
    [
      ['exec', 'x', '--t'],
      ['--timeout', '--timeout-ms', '--tty'],
    ],
    [['exec', 'x', '--isolation', 'na'], ['namespace']],
    [['exec', 'x', '--allow', 'npm'], ['npm']],
    [['exec', 'x', '--shared', ''], ['shared-1/mainx']],
    [['exec', '--all', ''], ['tasks-1/main']],
    [['exec', 'x', '-e', 'A=b', '--cw'], ['--cwd']],
    [['exec', 'x', '--', 'npm', '--t'], ['']],
    [['exec', 'x', 'npm', '--t'], ['']],
    [['shell', ''], ['live-1/main']],
    [['shell', 'x', '--cw'], ['--cwd']],
    [['forward', 'li'], ['live-1/main']],
    [['env', 'unset', 'x', 'A', ''], ['env-1/mainx']],
    [['env', 's'], ['set']],
    [['history', ''], ['live-1/main']],
  ])('%j', async (words, expected) => {
    expect(await offered(...words)).toEqual(expected)
  })
})

test.each(['bash', 'zsh', 'fish'])('%s knows every command and flag', async (shell) => {
  const text = await script(shell)
  for (const operation of operations) {
    expect(text).toContain(operation.name)
    for (const flag of shownFlags(operation)) expect(text).toContain(flag.name)
  }
})

test('names for the scripts; a broken home offers nothing and says nothing', async () => {
  const list = [sampleWorkspace(), sampleWorkspace({ workspace_id: 'fix-login/codex' })]
  expect((await runCli(['__names', 'live'], { answers: { list } })).stdout).toBe('fix-login/claude\nfix-login/codex\n')
  expect((await runCli(['__names', 'tasks'], { answers: { list } })).stdout).toBe('fix-login\n')
  const snapshots = [
    { id: 'snap_1', label: 'before' },
    { id: 'snap_2', label: 'tests pass' },
    { id: 'snap_3', label: null },
  ]
  const ofOne = await runCli(['__names', 'snapshots', 'x'], { answers: { snapshots } })
  expect(ofOne).toMatchObject({ stdout: 'snap_3\nsnap_2\nbefore\nsnap_1\n', calls: [{ input: { id: 'x' } }] })
  const branch = { branches: [{ name: 'main' }, { name: 'idea' }] }
  expect((await runCli(['__names', 'branches', 'x'], { answers: { branch } })).stdout).toBe('main\nidea\n')
  const trashed = await runCli(['__names', 'trashed'], { answers: { list } })
  expect(trashed.calls[0]?.input).toEqual({ trashed: true })
  const templates = await runCli(['__names', 'templates'], { answers: { 'template list': [{ name: 'web-app' }] } })
  expect(templates.stdout).toBe('web-app\n')
  const bases = await runCli(['__names', 'bases'], { answers: { 'bases list': [{ name: 'git-1' }] } })
  expect(bases.stdout).toBe('git-1\n')
  const areas = {
    'shared list': ({ trashed }: { trashed?: boolean }) => [{ name: 'a', ...(trashed && { trash: 't' }) }],
  }
  expect((await runCli(['__names', 'shared'], { answers: areas })).stdout).toBe('a\n')
  expect((await runCli(['__names', 'shared-trashed'], { answers: areas })).stdout).toBe('t\n')
  const variables = await runCli(['__names', 'env', 'x'], { answers: { 'env list': [{ name: 'CI', secret: false }] } })
  expect(variables).toMatchObject({ stdout: 'CI\n', calls: [{ input: { id: 'x' } }] })
  const fail = (): never => {
    throw new Error('no home')
  }
  expect(await runCli(['__names'], { answers: { list: fail } })).toMatchObject({ exit: 0, stdout: '', stderr: '' })
})

describe('zsh and fish, run for real', () => {
  /** The script in a folder with an `aw` that knows one workspace, and what the shell answers there. */
  async function inShell(shell: 'zsh' | 'fish', ask: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'aw-completion-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'script'), await script(shell))
    await writeFile(join(folder, 'aw'), '#!/bin/sh\necho fix-login/main\n')
    await chmod(join(folder, 'aw'), 0o755)
    const env = { ...process.env, HOME: folder, PATH: `${folder}:${process.env['PATH']}` }
    const { stdout, stderr } = await sh(shell, ['-c', ask], { cwd: folder, env })
    expect(stderr).toBe('')
    return stdout
  }

  test('zsh takes the script', async () => {
    expect(
      await inShell(
        'zsh',
        'autoload -U compinit; compinit -u -d ./dump; zsh -n script; source ./script; print ${_comps[aw]}',
      ),
    ).toBe('_aw\n')
  })

  test('fish offers commands, flags, choices and workspaces', async () => {
    const offers = (line: string): string => `source script; complete -C '${line}'`
    const firstWords = (text: string): string[] =>
      text
        .trim()
        .split('\n')
        .map((row) => row.split('\t')[0] ?? '')
    expect(firstWords(await inShell('fish', offers('aw cr')))).toEqual(['create'])
    expect(firstWords(await inShell('fish', offers('aw fs re')))).toEqual(expect.arrayContaining(['read', 'remove']))
    expect(firstWords(await inShell('fish', offers('aw list --tas')))).toContain('--task-id')
    expect(firstWords(await inShell('fish', offers('aw show fix')))).toEqual(['fix-login/main'])
    expect(firstWords(await inShell('fish', offers('aw cp fix')))).toEqual(['fix-login/main:'])
    expect(firstWords(await inShell('fish', offers('aw cp scr')))).toEqual(['script'])
    expect(firstWords(await inShell('fish', offers('aw template show fix')))).toEqual(['fix-login/main'])
    expect(firstWords(await inShell('fish', offers('aw create x --from-workspace fix')))).toEqual(['fix-login/main'])
    expect(firstWords(await inShell('fish', offers('aw snapshot ')))).toEqual(
      expect.arrayContaining(['label', 'remove', 'fix-login/main']),
    )
    expect(firstWords(await inShell('fish', offers('aw snapshot remove a b fix')))).toEqual(['fix-login/main'])
    expect(firstWords(await inShell('fish', offers('aw exec fix')))).toEqual(['fix-login/main'])
    expect(firstWords(await inShell('fish', offers('aw exec x --cw')))).toContain('--cwd')
    expect(firstWords(await inShell('fish', offers('aw exec x -e A=b --cw')))).toContain('--cwd')
    for (const line of ['aw exec x -- npm --cw', 'aw exec x npm --cw', 'aw shell x -- sh --cw'])
      expect(await inShell('fish', offers(line))).toBe('')
    expect(firstWords(await inShell('fish', offers('aw forward fix')))).toEqual(['fix-login/main'])
  })
})
