import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { place, type Ran } from './built-command.ts'

const json = ({ stdout }: Ran): unknown => JSON.parse(stdout)

test('a life: create, look, rename, reset, destroy, undelete, purge', () => {
  using here = place()
  mkdirSync(join(here.folder, 'project'))
  writeFileSync(join(here.folder, 'project/readme'), 'text')

  const created = here.aw('create', 'spike', '--from', './project', '--label', 'sprint=12')
  const path = created.stdout.trim()
  expect(readFileSync(join(path, 'work/readme'), 'utf8')).toBe('text')
  expect(json(here.aw('show', 'spike', '--json'))).toMatchObject({
    workspace_id: 'spike/main',
    labels: { sprint: '12' },
  })
  expect(here.aw('list').stdout).toMatch(/^spike\/main\tready\t[^\t]+\t[^\t]+\t-\tfolder .*project\n$/)
  expect(here.aw('ensure', 'spike').stdout).toBe(created.stdout)

  expect(here.aw('rename', 'spike', 'fix-login/claude').stdout).toMatch(/\/fix-login\/claude\n$/)
  writeFileSync(join(here.aw('path', 'fix-login/claude').stdout.trim(), 'work/extra'), '')
  expect(here.aw('reset', 'fix-login/claude').code).toBe(0)
  expect(here.aw('fs', 'tree', 'fix-login/claude', 'work').stdout).not.toContain('extra')

  expect(here.aw('destroy', 'fix-login/claude').stdout).toBe('Workspace destroyed\n')
  expect(here.aw('list').stdout).toBe('')
  expect(here.aw('list', '--trashed').stdout).toMatch(/^fix-login\/claude\ttrashed/)
  expect(here.aw('undelete', 'fix-login/claude').code).toBe(0)
  expect(here.aw('exists', 'fix-login/claude')).toMatchObject({ code: 0, stdout: 'yes\n' })
  expect(here.aw('destroy', 'fix-login/claude').code).toBe(0)
  expect(here.aw('purge', 'fix-login/claude').stdout).toMatch(/^Erased /)
  expect(here.aw('undelete', 'fix-login/claude').code).not.toBe(0)
})

test('files through the command, to the byte', () => {
  using here = place()
  here.aw('create', 'x')
  const content = randomBytes(1_000_000)
  expect(here.awWith(content, 'fs', 'write', 'x', 'work/deep/data')).toMatchObject({ code: 0, stdout: '', stderr: '' })
  const read = here.sh('aw fs read x work/deep/data | sha256sum; cat home/workspaces/x/main/work/deep/data | sha256sum')
  const [one, other] = read.stdout.trim().split('\n')
  expect(one).toBe(other)
  expect(here.aw('fs', 'stat', 'x', 'work/deep/data').stdout).toContain('size\t1000000\n')
  expect(here.awWith('more', 'fs', 'append', 'x', 'work/log').code).toBe(0)
  expect(here.aw('fs', 'copy', 'x', 'work/log', 'output/log').code).toBe(0)
  expect(here.aw('fs', 'move', 'x', 'output/log', 'output/moved').code).toBe(0)
  expect(here.aw('fs', 'list', 'x', 'output').stdout).toMatch(/^-rw\S+\t4\t\S+\tmoved\n$/)
  expect(here.aw('fs', 'mkdir', 'x', 'work/a/b', '--parents').code).toBe(0)
  expect(here.aw('fs', 'remove', 'x', 'work/a')).toMatchObject({ code: 5 })
  expect(here.aw('fs', 'remove', 'x', 'work/a', '--recursive').code).toBe(0)
  expect(here.aw('fs', 'read', 'x', 'work/none').code).toBe(3)
})

test('many ids at once', () => {
  using here = place()
  for (const name of ['a', 'b']) here.aw('create', name)
  const result = here.aw('destroy', 'a', 'nope', 'b')
  expect(result).toMatchObject({ code: 3, stdout: 'a\tWorkspace destroyed\nb\tWorkspace destroyed\n' })
  expect(result.stderr).toContain('nope')
  expect(json(here.aw('undelete', 'a', 'nope', '--json'))).toMatchObject([
    { id: 'a', ok: true, result: { workspace_id: 'a/main' } },
    { id: 'nope', ok: false, error: { code: 'workspace_not_found' } },
  ])
})

test('the log and its care', () => {
  using here = place()
  here.aw('create', 'a/one')
  here.aw('create', 'b/two')
  const events = here.aw('events', '--task', 'a', '--type', 'workspace_created', '--json')
  expect(events.stdout.trim().split('\n')).toHaveLength(1)
  expect(json(events)).toMatchObject({ type: 'workspace_created', data: { task_id: 'a', agent_id: 'one' } })
  for (const named of [['--workspace', 'b/two'], ['b/two']])
    expect(here.aw('events', ...named).stdout).toMatch(/\tworkspace_created\tb\/two\t/)
  expect(here.aw('audit', 'seal').stdout).toContain('checkpoint\t1\n')
  expect(here.aw('audit', 'verify')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Intact up to checkpoint 1') as string,
  })
  expect(here.aw('recover')).toMatchObject({ code: 0, stdout: 'Nothing to recover: log and disk agree\n' })
  expect(here.aw('gc', '--plan')).toMatchObject({ code: 0, stdout: 'Nothing to erase\n' })
  expect(here.aw('doctor').code).toBe(0)
  expect(json(here.aw('check', '--json'))).toMatchObject({ ok: true })
})

describe('settings', () => {
  const valueOf = (ran: Ran, key: string): unknown =>
    (json(ran) as { settings: { key: string; value: unknown; from: string }[] }).settings.find(
      (item) => item.key === key,
    )

  test('file, then environment, then flags', () => {
    using here = place()
    const key = 'trash.retention_days'
    const file = join(here.folder, 'my.toml')
    writeFileSync(file, '[trash]\nretention_days = 3\n')
    expect(valueOf(here.aw('config', 'show', '--json'), key)).toMatchObject({ value: 7, from: 'default' })
    const fromFile = here.aw('config', 'show', '--json', '--config-file', file)
    expect(valueOf(fromFile, key)).toMatchObject({ value: 3 })
    here.env['AW_TRASH_RETENTION_DAYS'] = '4'
    expect(valueOf(here.aw('--config-file', 'my.toml', 'config', 'show', '--json'), key)).toMatchObject({ value: 4 })
    const flag = here.aw('config', 'show', '--json', '--set', `${key}=5`)
    expect(valueOf(flag, key)).toMatchObject({ value: 5 })
  })

  test('what is wrong in them is a usage error', () => {
    using here = place()
    const result = here.aw('list', '--set', 'trash.retension_days=5')
    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean trash.retention_days?') as string,
    })
  })

  test('the home by flag', () => {
    using here = place()
    const { stdout } = here.aw('create', 'x', '--home', 'elsewhere')
    expect(stdout).toBe(`${join(here.folder, 'elsewhere/workspaces/x/main')}\n`)
    expect(here.aw('exists', 'x').code).toBe(3)
  })
})

test('completion with the names that are there', () => {
  using here = place()
  here.aw('create', 'fix-login/claude')
  here.aw('create', 'gone')
  here.aw('destroy', 'gone')
  const ask = (...words: string[]): string =>
    here.sh(
      `source <(aw completion bash); COMP_WORDS=(aw ${words.join(' ')} ''); COMP_CWORD=${words.length + 1}; _aw; echo "\${COMPREPLY[@]}"`,
    ).stdout
  expect(ask('show')).toBe('fix-login/claude\n')
  expect(ask('undelete')).toBe('gone/main\n')
  expect(ask('list')).toBe('fix-login\n')
})
