/** Clients of others: the inspector's command line, Claude Code and Codex. An ordinary user, an empty home. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import { installedAgent, type RealAgent } from '../agents/installed.ts'
import type { Turn } from '../agents/stand-in.ts'
import { launcher, place, type Place } from '../cli/built-command.ts'
import { model } from '../agents/hooks/model.ts'

const programs = new Map<string, string>()
beforeAll(() => {
  for (const name of ['claude', 'codex'] as const satisfies readonly RealAgent[])
    programs.set(name, join(installedAgent(name), name))
  programs.set('inspector', join(installedAgent('inspector'), 'mcp-inspector'))
}, 300_000)

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

async function run(
  here: Place,
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const child = spawn(programs.get(name) ?? '', args, {
    ...user,
    cwd: here.folder,
    env: { ...here.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 90_000,
  })
  const code = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, stdout, stderr }
}

describe('the inspector', () => {
  const inspect = async (here: Place, ...args: readonly string[]): Promise<unknown> => {
    const own = ['-e', `AW_HOME=${here.home}`, process.execPath, launcher, 'mcp']
    const { stdout, stderr, code } = await run(here, 'inspector', ['--cli', ...own, ...args])
    if (stdout === '') throw new Error(`${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  test('lists the tools and calls them', async () => {
    using here = place('ordinary')
    const { tools } = (await inspect(here, '--method', 'tools/list')) as {
      tools: { name: string; outputSchema: object }[]
    }
    expect(tools.map(({ name }) => name)).toContain('create_workspace')
    const call = (name: string, ...given: readonly string[]): Promise<unknown> =>
      inspect(here, '--method', 'tools/call', '--tool-name', name, ...given.flatMap((one) => ['--tool-arg', one]))
    expect(await call('create_workspace', 'id=looked-at')).toMatchObject({
      structuredContent: { workspace_id: 'looked-at/main' },
    })
    expect(await call('write_file', 'id=looked-at', 'path=work/x', 'content=hello')).toMatchObject({
      structuredContent: { path: 'work/x', size: 5 },
    })
    expect(here.aw('fs', 'read', 'looked-at', 'work/x').stdout).toBe('hello')
    expect(await call('read_file', 'id=looked-at', 'path=work/y')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^file_not_found: /) as string }],
    })
  })
})

describe('Claude Code', () => {
  const key = {
    ANTHROPIC_API_KEY: 'not-a-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }
  const use = (tool: string, input: Record<string, unknown>): Turn => ({ tool: `mcp__aw__${tool}`, input })

  async function ask(here: Place, url: string, prompt: string, flags: readonly string[]): Promise<string> {
    const given = ['-p', prompt, '--output-format', 'json', '--allowedTools', 'mcp__aw', ...flags]
    const { stdout, stderr } = await run(here, 'claude', given, { ...key, ANTHROPIC_BASE_URL: url })
    if (stdout === '') throw new Error(stderr)
    const answer = JSON.parse(stdout) as { is_error: boolean; result: string }
    expect(answer.is_error).toBe(false)
    return answer.result
  }

  test('does its work with our tools, and reads our errors', async () => {
    using here = place('ordinary')
    await using played = await model({
      'use-the-tools': [
        use('create_workspace', { id: 'by-claude' }),
        use('write_file', { id: 'by-claude', path: 'work/a.sh', content: 'echo from the sandbox; exit 4\n' }),
        use('exec', { id: 'by-claude', argv: ['sh', 'a.sh'] }),
        use('read_file', { id: 'by-claude', path: 'work/missing' }),
        use('snapshot', { id: 'by-claude', label: 'done' }),
        { text: 'all used' },
      ],
    })
    const server = { command: process.execPath, args: [launcher, 'mcp'], env: { AW_HOME: here.home } }
    writeFileSync(join(here.folder, 'mcp.json'), JSON.stringify({ mcpServers: { aw: server } }))
    const flags = ['--mcp-config', join(here.folder, 'mcp.json'), '--strict-mcp-config']
    expect(await ask(here, played.url, 'use-the-tools', flags)).toBe('all used')
    const results = played.results()
    expect(results).toHaveLength(5)
    expect(results[0]).toContain('by-claude/main')
    expect(results[2]).toContain('from the sandbox')
    expect(results[3]).toContain('file_not_found')
    expect(here.aw('snapshots', 'by-claude').stdout).toContain('done')
    expect(JSON.parse(here.aw('history', 'by-claude', '--json').stdout)).toMatchObject([{ exit: { code: 4 } }])
  })

  test('has them after aw mcp install, and has them no more after uninstall', async () => {
    using here = place('ordinary')
    await using played = await model({ 'make-one': [use('create_workspace', { id: 'installed' }), { text: 'made' }] })
    const env = { ...key, ANTHROPIC_BASE_URL: played.url }
    const listed = async () => (await run(here, 'claude', ['mcp', 'get', 'aw'], env)).stdout
    expect(installAs(here, 'install', 'claude')).toMatchObject({ code: 0 })
    expect(await listed()).toMatch(/Connected[^]*Args: mcp/)
    expect(await ask(here, played.url, 'make-one', [])).toBe('made')
    expect(here.aw('exists', 'installed').code).toBe(0)
    expect(installAs(here, 'uninstall', 'claude')).toMatchObject({ code: 0 })
    expect(await listed()).not.toContain('Connected')
  })
})

/** As it is run where `aw` is in the search path. */
function installAs(here: Place, verb: string, client: string, ...flags: readonly string[]) {
  here.sh(`mkdir -p "$HOME/bin" && ln -sfn "$AW" "$HOME/bin/aw"`)
  return here.sh(`PATH="$HOME/bin:$PATH" "$HOME/bin/aw" mcp ${verb} ${client} ${flags.join(' ')} --yes`)
}

test('Codex knows the server of both scopes', async () => {
  using here = place('ordinary')
  const listed = async (): Promise<unknown> =>
    JSON.parse((await run(here, 'codex', ['mcp', 'list', '--json'])).stdout) as unknown
  expect(installAs(here, 'install', 'codex')).toMatchObject({ code: 0 })
  const server = { name: 'aw', transport: { type: 'stdio', command: `${here.folder}/bin/aw`, args: ['mcp'] } }
  expect(await listed()).toMatchObject([server])
  expect(installAs(here, 'uninstall', 'codex')).toMatchObject({ code: 0 })
  expect(await listed()).toEqual([])
  const project = join(here.folder, 'project')
  here.sh(
    `mkdir "$HOME/project" && printf '[projects."%s"]\\ntrust_level = "trusted"\\n' "$HOME/project" > "$HOME/.codex/config.toml"`,
  )
  here.sh(`cd "$HOME/project" && "$HOME/bin/aw" mcp install codex --scope project --yes`)
  const inProject = await run({ ...here, folder: project }, 'codex', ['mcp', 'list', '--json'])
  expect(JSON.parse(inProject.stdout)).toMatchObject([{ name: 'aw', transport: { command: 'aw', args: ['mcp'] } }])
})
