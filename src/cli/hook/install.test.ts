import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli, type Scene } from '../../../test/support/cli.ts'

let folder = ''
const user = (): string => join(folder, 'config/settings.json')
const project = (): string => join(folder, 'project')
const scene = (more: Scene = {}): Scene => ({
  cwd: project(),
  env: { CLAUDE_CONFIG_DIR: join(folder, 'config'), NO_COLOR: '1' },
  ...more,
})
const hook = (verb: string, ...flags: string[]) => runCli(['hook', verb, 'claude', ...flags], scene())
const write = (text: string, file = user()): void => {
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
}
const read = (file = user()): string => readFileSync(file, 'utf8')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-install-'))
  mkdirSync(project())
})
afterEach(() => rmSync(folder, { recursive: true }))

const other = { type: 'command', command: 'make-worktree.sh' }
const commands = (text: string, event: string): string[] =>
  (JSON.parse(text) as { hooks: Record<string, { hooks: { command: string }[] }[]> }).hooks[event]?.flatMap(
    ({ hooks }) => hooks.map(({ command }) => command),
  ) ?? []

test('where there are no settings yet', async () => {
  const result = await hook('install', '--yes')
  expect(result).toMatchObject({ exit: 0, connections: [] })
  expect(result.stdout).toContain(`--- ${user()}\n+++ ${user()}\n@@ -0,0 +1,`)
  expect(commands(read(), 'WorktreeCreate')).toEqual([expect.stringMatching(/^exec .* hook claude$/)])
  expect(commands(read(), 'WorktreeRemove')).toEqual(commands(read(), 'WorktreeCreate'))
  expect(statSync(user()).mode & 0o777).toBe(0o600)
  const text = read()
  expect(await hook('install', '--yes')).toMatchObject({ exit: 0, stdout: '' })
  expect(read()).toBe(text)
  expect(readdirSync(join(folder, 'config'))).toEqual(['settings.json'])
})

describe('everything else stays byte for byte, and comes back so', () => {
  const texts = {
    'two spaces': '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [{ "hooks": [] }]\n  },\n  "x": 1.0\n}\n',
    tabs: '{\n\t"a": {},\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}',
    'one line': '{"a":1,"hooks":{"Stop":[]}}',
    'one line with spaces': '{ "a": 1, "b": [1, 2] }\n',
    'line ends of Windows':
      '{\r\n    "a": "\\u00e9 \\" { [",\r\n    "hooks": {\r\n        "Stop": []\r\n    }\r\n}\r\n',
    'no hooks': '{\n    "permissions": { "allow": ["Bash(ls:*)"] }\n}\n',
    'a byte order mark': '\ufeff{\n  "a": 1\n}\n',
    'unusual order and spaces': '{ "z" : 1 ,\n "hooks":{"PreToolUse":[ ]\n}, "a":"é" }',
    'a nested one of the same name': '{\n  "env": {\n    "hooks": "x"\n  }\n}\n',
  }
  test.each(Object.entries(texts))('%s', async (_, text) => {
    write(text)
    chmodSync(user(), 0o640)
    expect(await hook('install', '--yes')).toMatchObject({ exit: 0 })
    const changed = read()
    expect(commands(changed.replace('\ufeff', ''), 'WorktreeCreate')).toHaveLength(1)
    const { hooks, ...rest } = JSON.parse(changed.replace('\ufeff', '')) as { hooks: Record<string, unknown> }
    const { hooks: before = {}, ...same } = JSON.parse(text.replace('\ufeff', '')) as { hooks?: object }
    expect([rest, Object.keys(hooks)]).toEqual([same, [...Object.keys(before), 'WorktreeCreate', 'WorktreeRemove']])
    expect(statSync(user()).mode & 0o777).toBe(0o640)
    expect(await hook('uninstall', '--yes')).toMatchObject({ exit: 0 })
    expect(read()).toBe(text)
    expect(await hook('uninstall', '--yes')).toMatchObject({ exit: 0, stdout: '' })
  })
})

test('uninstall takes out ours alone', async () => {
  const ours = { type: 'command', command: "'/opt/my node/node' /opt/aw/dist/aw.cjs --home /x hook claude" }
  write(
    JSON.stringify({
      hooks: { WorktreeCreate: [{ hooks: [other, ours] }, { hooks: [ours] }], WorktreeRemove: [{ hooks: [ours] }] },
    }),
  )
  expect(await hook('uninstall', '--yes')).toMatchObject({ exit: 0 })
  expect(JSON.parse(read())).toEqual({ hooks: { WorktreeCreate: [{ hooks: [other] }] } })
})

test('a command of ours that is not up to date is changed, and nothing around it', async () => {
  const old = '{"hooks":{"WorktreeCreate":[{"hooks":[{"type":"command","command":"aw hook claude","timeout":5}]}]}}'
  write(old)
  await hook('install', '--yes')
  expect(read()).toContain('"timeout":5}]}]')
  expect(commands(read(), 'WorktreeCreate')).toEqual([expect.stringMatching(/^exec /)])
})

test.each([
  ['comments', '{\n  // mine\n  "a": 1\n}', 'has comments'],
  ['a comment behind', '{\n  "a": 1, // mine\n  "b": 2\n}', 'has comments'],
  ['no JSON', '{"a": }', 'cannot be changed'],
  ['no object', '[]', 'does not hold an object'],
  ['hooks that are none', '{"hooks": []}', 'hooks is not an object'],
  ['a list that is none', '{"hooks": {"WorktreeCreate": {}}}', 'is not a list'],
  ['an entry that is none', '{"hooks": {"WorktreeRemove": [{}]}}', 'an entry without hooks'],
  ['hooks twice', '{"hooks": {}, "hooks": {}}', 'stands there twice'],
  ['another command', JSON.stringify({ hooks: { WorktreeCreate: [{ hooks: [other] }] } }), 'make-worktree.sh'],
  [
    'another command for removing',
    JSON.stringify({ hooks: { WorktreeRemove: [{ hooks: [other] }] } }),
    'make-worktree.sh',
  ],
  ['another kind', '{"hooks":{"WorktreeCreate":[{"hooks":[{"type":"http","url":"http://x"}]}]}}', 'http://x'],
])('refused: %s', async (_, text, said) => {
  write(text)
  const result = await hook('install', '--yes')
  expect(result).toMatchObject({ exit: 2, stdout: '' })
  expect(result.stderr).toContain(said)
  expect(read()).toBe(text)
})

test('once is enough: another scope that has a command is named', async () => {
  expect(await hook('install', '--scope', 'local', '--yes')).toMatchObject({ exit: 0 })
  const again = await hook('install', '--yes')
  expect(again).toMatchObject({ exit: 2 })
  expect(again.stderr).toContain('aw hook uninstall claude --scope local')
  expect(existsSync(user())).toBe(false)
})

test('settings that are shared name the command as everybody has it', async () => {
  await hook('install', '--scope', 'project', '--yes')
  const file = join(project(), '.claude/settings.json')
  expect(commands(read(file), 'WorktreeCreate')).toEqual(['exec aw hook claude'])
  expect(statSync(file).mode & 0o777).toBe(0o644)
  await runCli(['--home', 'my home', 'hook', 'install', 'claude', '--scope', 'project', '--yes'], scene())
  expect(commands(read(file), 'WorktreeRemove')).toEqual([`exec aw --home '${project()}/my home' hook claude`])
})

test('asks on a terminal; without one it must be told', async () => {
  const terminal = { stdinIsTerminal: true, terminal: true }
  const ask = (stdin: string) => runCli(['hook', 'install', 'claude'], scene({ ...terminal, stdin }))
  for (const answer of ['n\n', '\n', '', 'yesterday\n']) {
    expect(await ask(answer)).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('Nothing was changed') as string,
    })
    expect(existsSync(user())).toBe(false)
  }
  expect(await hook('install')).toMatchObject({ exit: 2, stderr: expect.stringContaining('--yes') as string })
  expect(await hook('install', '--dry-run')).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('+++') as string,
  })
  expect(existsSync(user())).toBe(false)
  expect(await ask('y\n')).toMatchObject({ exit: 0 })
  expect(existsSync(user())).toBe(true)
})

test('as JSON', async () => {
  const { stdout } = await hook('install', '--yes', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ scope: 'user', file: user(), changed: true })
})

describe('links', () => {
  test('in the files of the user they are followed, and that is told', async () => {
    write('{}\n', join(folder, 'dotfiles/claude.json'))
    mkdirSync(join(folder, 'config'))
    symlinkSync('../dotfiles/claude.json', user())
    const result = await hook('install', '--yes')
    expect(result.stderr).toContain(`${join(folder, 'dotfiles/claude.json')} is what changes`)
    expect(commands(read(join(folder, 'dotfiles/claude.json')), 'WorktreeCreate')).toHaveLength(1)
    expect(await hook('uninstall', '--yes')).toMatchObject({ exit: 0 })
    expect(read(join(folder, 'dotfiles/claude.json'))).toBe('{}\n')
  })

  test.each(['settings.json', '.claude'])('a project does not lead out of itself with %s', async (name) => {
    write('{}\n', join(folder, 'mine/settings.json'))
    if (name === '.claude') symlinkSync('../mine', join(project(), name))
    else {
      mkdirSync(join(project(), '.claude'))
      symlinkSync('../../mine/settings.json', join(project(), '.claude', name))
    }
    const result = await hook('install', '--scope', 'project', '--yes')
    expect(result).toMatchObject({ exit: 5, stderr: expect.stringContaining('leads out of') as string })
    expect(read(join(folder, 'mine/settings.json'))).toBe('{}\n')
  })

  test('one that leads nowhere, and what is no file', async () => {
    mkdirSync(join(folder, 'config'))
    symlinkSync('gone', user())
    expect(await hook('install', '--yes')).toMatchObject({ exit: 5 })
    rmSync(user())
    mkdirSync(user())
    expect(await hook('install', '--yes')).toMatchObject({ exit: 5 })
  })
})
