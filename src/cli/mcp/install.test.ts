import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli, type Scene } from '../../../test/support/cli.ts'

let folder = ''
const project = (): string => join(folder, 'project')
const claude = (): string => join(folder, '.claude.json')
const codex = (): string => join(folder, '.codex/config.toml')
const scene = (more: Scene = {}): Scene => ({ cwd: project(), env: { HOME: folder, NO_COLOR: '1' }, ...more })
const mcp = (...args: string[]) => runCli(['mcp', ...args], scene())
const write = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
const read = (file: string): string => readFileSync(file, 'utf8')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'aw-mcp-'))
  mkdirSync(project())
})
afterEach(() => rmSync(folder, { recursive: true }))

interface Server {
  readonly command: string
  readonly args: readonly string[]
}
const inJson = (file: string): Server | undefined =>
  (JSON.parse(read(file).replace('\ufeff', '')) as { mcpServers?: Record<string, Server> }).mcpServers?.['aw']
const inToml = (file: string): Server | undefined =>
  (parse(read(file)) as unknown as { mcp_servers?: Record<string, Server> }).mcp_servers?.['aw']

describe.each([
  ['claude', claude, inJson],
  ['codex', codex, inToml],
] as const)('%s', (client, file, server) => {
  test('where there is no configuration yet', async () => {
    const result = await mcp('install', client, '--yes')
    expect(result).toMatchObject({ exit: 0, connections: [] })
    expect(result.stdout).toContain(`--- ${file()}\n+++ ${file()}\n@@ -0,0 +1,`)
    expect(server(file())?.args.at(-1)).toBe('mcp')
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    const text = read(file())
    expect(await mcp('install', client, '--yes')).toMatchObject({ exit: 0, stdout: '' })
    expect(read(file())).toBe(text)
    expect(await mcp('uninstall', client, '--yes')).toMatchObject({ exit: 0 })
    expect(server(file())).toBeUndefined()
    expect(await mcp('uninstall', client, '--yes')).toMatchObject({ exit: 0, stdout: '' })
  })

  test('one that is shared names the command as everybody has it; one workspace can be named', async () => {
    await mcp('install', client, '--scope', 'project', '--workspace', 'fix-login', '--yes')
    const shared = join(project(), client === 'claude' ? '.mcp.json' : '.codex/config.toml')
    expect(server(shared)).toMatchObject({ command: 'aw', args: ['mcp', '--workspace', 'fix-login'] })
    expect(statSync(shared).mode & 0o777).toBe(0o644)
    await mcp('--home', 'my home', 'install', client, '--scope', 'project', '--yes')
    expect(server(shared)).toMatchObject({ command: 'aw', args: ['--home', join(project(), 'my home'), 'mcp'] })
    expect(existsSync(file())).toBe(false)
  })

  test('only looks, or asks first', async () => {
    expect(await mcp('install', client, '--dry-run')).toMatchObject({ exit: 0 })
    expect(await mcp('install', client)).toMatchObject({ exit: 2 })
    const terminal = scene({ stdinIsTerminal: true, terminal: true, stdin: 'n\n' })
    expect(await runCli(['mcp', 'install', client], terminal)).toMatchObject({ exit: 1 })
    expect(existsSync(file())).toBe(false)
    const told = await mcp('install', client, '--dry-run', '--json')
    expect(JSON.parse(told.stdout)).toMatchObject({ client, scope: 'user', file: file(), changed: true })
    expect(await runCli(['mcp', 'install', client], scene({ ...terminal, stdin: 'y\n' }))).toMatchObject({ exit: 0 })
    expect(server(file())).toBeDefined()
  })

  test('a project that leads out of itself is not followed', async () => {
    const shared = join(project(), client === 'claude' ? '.mcp.json' : '.codex/config.toml')
    mkdirSync(dirname(shared), { recursive: true })
    write(join(folder, 'elsewhere'), '')
    symlinkSync(join(folder, 'elsewhere'), shared)
    expect(await mcp('install', client, '--scope', 'project', '--yes')).toMatchObject({ exit: 5 })
    expect(read(join(folder, 'elsewhere'))).toBe('')
  })
})

describe('everything else stays byte for byte, and comes back so', () => {
  const json = {
    'two spaces': '{\n  "numStartups": 3,\n  "mcpServers": {\n    "x": { "command": "y" }\n  },\n  "z": 1.0\n}\n',
    tabs: '{\n\t"a": {},\n\t"projects": {\n\t\t"/x": []\n\t}\n}',
    'one line': '{"a":1,"mcpServers":{"x":{"command":"y"}}}',
    'line ends of Windows': '{\r\n    "a": "\\u00e9 {"\r\n}\r\n',
    'a byte order mark': '\ufeff{\n  "a": 1\n}\n',
  }
  test.each(Object.entries(json))('JSON: %s', async (_, text) => {
    write(claude(), text)
    chmodSync(claude(), 0o640)
    expect(await mcp('install', 'claude', '--yes')).toMatchObject({ exit: 0 })
    expect(inJson(claude())?.args.at(-1)).toBe('mcp')
    expect(statSync(claude()).mode & 0o777).toBe(0o640)
    expect(await mcp('uninstall', 'claude', '--yes')).toMatchObject({ exit: 0 })
    expect(read(claude())).toBe(text)
  })

  const toml = {
    'comments and order': '# mine\nmodel = "o3" # best\n\n[mcp_servers.x]\ncommand = "y"\n\n# the end\n',
    'several lines': 'notify = [\n  "a",\n  "b",\n]\ntext = """\n[x]\n"""\n',
    'line ends of Windows': 'a = 1\r\n\r\n[b]\r\nc = 2\r\n',
    'tables in a list': '[[profiles]]\nname = "x"\n\n[[profiles]]\nname = "y"\n',
  }
  test.each(Object.entries(toml))('TOML: %s', async (_, text) => {
    write(codex(), text)
    expect(await mcp('install', 'codex', '--yes')).toMatchObject({ exit: 0 })
    expect(inToml(codex())?.args.at(-1)).toBe('mcp')
    expect(read(codex()).startsWith(text)).toBe(true)
    expect(await mcp('uninstall', 'codex', '--yes')).toMatchObject({ exit: 0 })
    expect(read(codex())).toBe(text)
  })
})

describe('what was added to ours stays when ours is brought up to date', () => {
  test('JSON', async () => {
    write(
      claude(),
      '{\n  "mcpServers": {\n    "aw": {\n      "command": "/old/aw",\n      "args": ["mcp"],\n      "env": { "AW_HOME": "/x" }\n    }\n  }\n}\n',
    )
    expect(await mcp('install', 'claude', '--yes')).toMatchObject({ exit: 0 })
    expect(inJson(claude())).toMatchObject({ env: { AW_HOME: '/x' } })
    expect(inJson(claude())?.command).not.toBe('/old/aw')
  })

  test('TOML', async () => {
    const rest = 'startup_timeout_sec = 20 # slow\n\n[mcp_servers.aw.env]\nAW_HOME = "/x"\n\n[other]\ncommand = "z"\n'
    write(codex(), `[mcp_servers.aw]\ncommand = "/old/aw"\nargs = ["mcp"]\n${rest}`)
    expect(await mcp('install', 'codex', '--yes')).toMatchObject({ exit: 0 })
    expect(read(codex()).endsWith(rest)).toBe(true)
    expect(inToml(codex())?.command).not.toBe('/old/aw')
    expect(await mcp('uninstall', 'codex', '--yes')).toMatchObject({ exit: 0 })
    expect(read(codex())).toBe('[other]\ncommand = "z"\n')
  })
})

describe('refused, and nothing is changed', () => {
  test.each([
    ['comments', '{\n  // mine\n  "a": 1\n}', 'has comments'],
    ['no JSON', '{"a": }', 'cannot be changed'],
    ['no object', '[]', 'does not hold an object'],
    ['servers that are none', '{"mcpServers": []}', 'mcpServers is not an object'],
    ['servers twice', '{"mcpServers": {}, "mcpServers": {}}', 'stands there twice'],
    ['another server of that name', '{"mcpServers": {"aw": {"command": "other"}}}', 'has another server called aw'],
  ])('JSON: %s', async (_, text, said) => {
    write(claude(), text)
    const result = await mcp('install', 'claude', '--yes')
    expect(result).toMatchObject({ exit: 2, stdout: '' })
    expect(result.stderr).toContain(said)
    expect(read(claude())).toBe(text)
  })

  test.each([
    ['no TOML', 'a = \n', 'cannot be changed'],
    ['another server of that name', '[mcp_servers.aw]\nurl = "http://x"\n', 'has another server called aw'],
    ['a table on one line', 'mcp_servers = { aw = { command = "/old/aw", args = ["mcp"] } }\n', 'only its author'],
    ['a table that is closed', 'mcp_servers = { x = { command = "y" } }\n', 'cannot be changed'],
    ['keys with dots', 'mcp_servers.aw.command = "/old/aw"\nmcp_servers.aw.args = ["mcp"]\n', 'only its author'],
    [
      'arguments on several lines',
      '[mcp_servers.aw]\ncommand = "/old/aw"\nargs = [\n  "mcp",\n]\n',
      'cannot be changed',
    ],
  ])('TOML: %s', async (_, text, said) => {
    write(codex(), text)
    const result = await mcp('install', 'codex', '--yes')
    expect(result).toMatchObject({ exit: 2, stdout: '' })
    expect(result.stderr).toContain(said)
    expect(read(codex())).toBe(text)
  })

  test('words that mean nothing', async () => {
    for (const args of [
      ['install'],
      ['install', 'gemini'],
      ['install', 'claude', 'x'],
      ['claude'],
      ['--yes'],
      ['install', 'claude', '--scope', 'local'],
    ])
      expect(await mcp(...args)).toMatchObject({ exit: 2, connections: [] })
    expect(await runCli(['mcp'], { stdinIsTerminal: true })).toMatchObject({ exit: 2, connections: [] })
  })
})
