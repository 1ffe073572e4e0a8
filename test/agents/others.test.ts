/** The real Codex, OpenCode and Gemini CLI in a sandbox, as their profiles start them, with a stand-in for their APIs. */
import { expect, it } from 'vitest'
import { builtInAgents } from '../../src/domain/agents/built-in.ts'
import { commandOf } from '../../src/manager/agents/command.ts'
import { standIn, type Turn } from './stand-in.ts'
import { credentialAt, key, stage } from './fixture.ts'

interface Case {
  readonly agent: 'codex' | 'gemini' | 'opencode'
  readonly variable: string
  /** One that it does not ask others about first. */
  readonly model: string
  readonly header: readonly [name: string, value: string]
  readonly turn: (command: string) => Turn
}

const cases: readonly Case[] = [
  {
    agent: 'codex',
    variable: 'OPENAI_API_KEY',
    model: 'played',
    header: ['authorization', `Bearer ${key}`],
    turn: (command) => ({ tool: 'exec_command', input: { cmd: command } }),
  },
  {
    agent: 'gemini',
    variable: 'GEMINI_API_KEY',
    model: 'gemini-2.5-flash',
    header: ['x-goog-api-key', key],
    turn: (command) => ({ tool: 'run_shell_command', input: { command, description: 'work' } }),
  },
  {
    agent: 'opencode',
    variable: 'ANTHROPIC_API_KEY',
    model: 'anthropic/claude-sonnet-4-5',
    header: ['x-api-key', key],
    turn: (command) => ({ tool: 'bash', input: { command, description: 'work' } }),
  },
]

it.each(cases)('$agent works on a prompt, goes on with it, and never has its key', async (one) => {
  const { agent, variable, model, header, turn } = one
  await using api = await standIn([turn('echo by a tool > made.txt; env > seen.txt'), { text: 'It is made' }])
  await using own = stage('ordinary', agent)
  own.here.env[variable] = key
  own.profile(agent, { credentials: credentialAt(agent, variable, api.url) })
  await own.aw(['create', 'job'])
  for (const resume of [false, true]) {
    const prompt = resume ? 'What did I ask for?' : 'Make the file of heliotrope'
    const { argv, stdin } = commandOf(profileOf(agent), { prompt, model, resume, isolation: 'namespace' })
    const { code, stdout, stderr } = await own.aw(['exec', 'job', '--agent', agent, '--', ...argv], stdin)
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/It is made|done/)
  }
  expect((await own.aw(['fs', 'read', 'job', 'work/made.txt'])).stdout).toBe('by a tool\n')
  const seen = (await own.aw(['fs', 'read', 'job', 'work/seen.txt'])).stdout
  expect(seen).toContain('HOME=/home/agent')
  expect(seen).not.toContain(key)
  expect(api.seen.map(({ headers }) => headers[header[0]])).toEqual(api.seen.map(() => header[1]))
  expect(api.seen.at(-1)?.body).toContain('heliotrope')
  expect(own.here.sh(`grep -rlF '${key}' "$AW_HOME"`).stdout).toBe('')
})

function profileOf(agent: string) {
  const profile = builtInAgents[agent]
  if (profile === undefined) throw new Error(agent)
  return profile
}

it('what makes other agents and editors run programs is not written by an agent, and no trace of that is left', async () => {
  const attack = `git init -q; for name in ${planted.join(' ')}; do
    mkdir -p "$(dirname $name)"; echo planted > $name; mkdir -p $name/x; mv $name moved; ln -sfn /tmp $name
    mv "$(dirname $name)" moved; done 2> refused; git add -A; git commit -qm all; git show --format= --name-only`
  await using api = await standIn([{ tool: 'exec_command', input: { cmd: attack } }, { text: 'It is made' }])
  await using own = stage('ordinary', 'codex')
  own.here.env['OPENAI_API_KEY'] = key
  own.profile('codex', { credentials: credentialAt('codex', 'OPENAI_API_KEY', api.url) })
  await own.aw(['create', 'job'])
  await own.aw(['fs', 'write', 'job', 'work/.vscode/tasks.json', '--parents'], 'as it was')
  const { argv, stdin } = commandOf(profileOf('codex'), { prompt: 'Begin', model: 'played', isolation: 'namespace' })
  expect(await own.aw(['exec', 'job', '--agent', 'codex', '--', ...argv], stdin)).toMatchObject({ code: 0 })
  expect((await own.aw(['fs', 'read', 'job', 'work/.vscode/tasks.json'])).stdout).toBe('as it was')
  expect(own.here.sh('ls -A "$AW_HOME/workspaces/job/main/work"').stdout).toBe('.git\n.vscode\nrefused\n')
  // What it has committed is the last that it told its model.
  expect(api.seen.at(-1)?.body).toMatch(/Output:\\n\.vscode\/tasks\.json\\nrefused\\n"/)
})

/** By which Claude Code, Gemini CLI, OpenCode, editors and Codex itself would be led astray. */
const planted = ['.claude/settings.json', '.mcp.json', '.gemini/settings.json', 'opencode.json', '.codex/config.toml']

it.each(['codex', 'gemini', 'opencode'] as const)('%s starts in a sandbox, with what runs it', async (agent) => {
  await using own = stage('same', agent)
  const { code, stdout } = await own.aw(['agents', 'test', agent, '--json'])
  const { findings } = JSON.parse(stdout) as { findings: { name: string; status: string; message: string }[] }
  const said = findings.find(({ name }) => name === `agent ${agent} at namespace`)
  expect({ code, said }).toMatchObject({
    code: 0,
    said: { status: 'ok', message: expect.stringMatching(/^starts: .*\d/) as unknown },
  })
})

it('any program is an agent with a file of its own, and one without a file is a command', async () => {
  await using own = stage('ordinary')
  own.here.sh(
    `mkdir -p "$HOME/tools" && printf '#!/bin/sh\\necho "$0 got: $*"; stat -c %%a "$KEY_FILE"; cat "$KEY_FILE"; echo x > "$MINE/x"; ls "$MINE"\\n' > "$HOME/tools/mine" && chmod +x "$HOME/tools/mine"`,
  )
  own.profile('mine', {
    title: 'Mine',
    binary: `${own.here.folder}/tools/mine`,
    command: ['mine', '--model={{model}}', '{{prompt}}'],
    state: { mount: '/home/agent/.mine', env: { MINE: '{{state}}' }, files: { 'settings/first.json': '{}' } },
    credentials: [{ from: { variable: 'MINE_KEY' }, file: { variable: 'KEY_FILE' } }],
    network: ['npm'],
  })
  own.here.env['MINE_KEY'] = key
  await own.aw(['create', 'job'])
  const { stdout } = await own.aw(['exec', 'job', '--agent', 'mine', '--', 'mine', 'do it'])
  expect(stdout.split('\n')).toEqual(['/opt/aw/programs/mine got: do it', '400', `${key}settings`, 'x', ''])
  const hidden = await own.aw([
    'exec',
    'job',
    '--agent',
    'mine',
    '--',
    'sh',
    '-c',
    `ls ${own.here.folder}; env | grep -c ${key}`,
  ])
  expect(hidden.stdout).toBe('tools\n0\n')
  own.profile('mine', { title: 'Mine', binary: 'mine', comand: [] })
  expect((await own.aw(['start', 'job', '--agent', 'mine'])).stderr).toContain(
    'comand is no field; did you mean command?',
  )
  own.here.sh('echo "{" > "$AW_HOME/agents.d/torn.json"')
  const listed = (await own.aw(['agents', 'list'])).stdout
  expect(listed).toContain('comand is no field')
  expect(listed).toContain('torn.json is not JSON')
  expect((await own.aw(['agents', 'show', 'claude'])).code).toBe(0)
  expect((await own.aw(['exec', 'job', '--', 'echo', 'a command'])).stdout).toBe('a command\n')
})

it('root’s agent is read by the sandbox’s user, whatever directories and files it is in', async () => {
  await using own = stage('same')
  const { folder } = own.here
  own.here.sh(`umask 077 && mkdir -p private/lib/node_modules/mine/bin private/bin &&
    printf '#!/usr/bin/env node\\nconsole.log("from", require("../data.json").word, process.getuid())\\n' > private/lib/node_modules/mine/bin/mine.js &&
    echo '{"word":"within"}' > private/lib/node_modules/mine/data.json && chmod 700 private/lib/node_modules/mine/bin/mine.js &&
    ln -s ../lib/node_modules/mine/bin/mine.js private/bin/mine && cp "$(command -v node)" private/bin/node`)
  own.here.env['PATH'] = `${folder}/private/bin:/usr/bin:/bin`
  own.profile('mine', { binary: 'mine', command: ['mine'] })
  await own.aw(['create', 'job'])
  const { stdout, stderr } = await own.aw(['exec', 'job', '--agent', 'mine', '--', 'mine'])
  expect(stderr + stdout).toBe('from within 1000\n')
  const seen = await own.aw([
    'exec',
    'job',
    '--agent',
    'mine',
    '--',
    'sh',
    '-c',
    `find ${folder} -maxdepth 3; which node`,
  ])
  expect(seen.stdout.split('\n').toSorted().filter(Boolean)).toEqual(
    [
      '/opt/aw/programs/node',
      folder,
      `${folder}/private`,
      `${folder}/private/bin`,
      `${folder}/private/bin/node`,
      `${folder}/private/lib`,
      `${folder}/private/lib/node_modules`,
    ].toSorted(),
  )
})
