/** Claude Code itself, with a model that is played on loopback: an ordinary user, an empty home, nothing in the environment. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import type { Turn } from '../stand-in.ts'
import { launcher } from '../../cli/built-command.ts'
import { claudeProgram } from './claude-program.ts'
import { model } from './model.ts'
import { scene, stateOf, type Scene } from './scene.ts'

let claude = ''
beforeAll(() => {
  claude = claudeProgram()
}, 300_000)

const bash = (command: string): Turn => ({ tool: 'Bash', input: { command, description: 'work' } })
const commit = 'git add -A && git -c user.name=n -c user.email=e commit -qm work'

/** With the hooks installed as the guide says, and the folder trusted as the first start would ask. */
function installed(): Scene {
  const own = scene()
  const { folder } = own.place
  own.sh(
    `mkdir bin && echo '${JSON.stringify({ hasCompletedOnboarding: true, projects: { [own.repository]: { hasTrustDialogAccepted: true } } })}' > .claude.json`,
  )
  symlinkSync(launcher, join(folder, 'bin/aw'))
  const { code, stdout } = own.place.sh(`PATH="$HOME/bin:$PATH" "$HOME/bin/aw" hook install claude --yes`)
  expect(code).toBe(0)
  expect(stdout).toContain(`exec ${folder}/bin/aw hook claude`)
  return own
}

async function ask(own: Scene, url: string, prompt: string, ...flags: string[]): Promise<string> {
  const tools = ['--allowedTools', 'Bash,Agent,EnterWorktree,ExitWorktree', '--output-format', 'json']
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const child = spawn(claude, [...flags, '-p', prompt, ...tools], {
    ...user,
    cwd: own.repository,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    env: {
      HOME: own.place.folder,
      TMPDIR: own.place.env['TMPDIR'],
      PATH: own.place.env['PATH'],
      AW_HOME: own.place.home,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'not-a-key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (err !== '') throw new Error(err)
  const answer = JSON.parse(out) as { is_error: boolean; result: string }
  expect(answer.is_error).toBe(false)
  return answer.result
}

test('--worktree: the session works in a workspace, with the files that git does not know', async () => {
  using own = installed()
  const before = stateOf(own)
  await using played = await model({
    'in-a-worktree': [bash(`pwd && cat .env && echo two > a.txt && ${commit} && git log --format=%s`), { text: 'yes' }],
  })
  expect(await ask(own, played.url, 'in-a-worktree', '--worktree', 'feature/login')).toBe('yes')
  const [path = '', ...rest] = (played.results()[0] ?? '').split('\n')
  expect(rest).toEqual(['KEY=1', 'work', 'one'])
  expect(own.workspaces()).toMatchObject([{ workspace_id: 'web/feature-login' }])
  expect(path).toBe(own.sh('readlink -f "$(aw path web/feature-login)"').trim())
  expect(stateOf(own)).toBe(before)
})

test('a subagent with isolation has a workspace of its own, a fork of that of its session', async () => {
  using own = installed()
  const before = stateOf(own)
  const agent = { description: 'part', prompt: 'the-part', subagent_type: 'general-purpose', isolation: 'worktree' }
  await using played = await model({
    'the-whole': [bash('echo outer > outer.txt'), { tool: 'Agent', input: agent }, { text: 'both' }],
    'the-part': [bash(`pwd && cat outer.txt && echo inner > outer.txt && ${commit}`), { text: 'part' }],
  })
  expect(await ask(own, played.url, 'the-whole', '--worktree', 'outer')).toBe('both')
  const path = own.sh('readlink -f "$(aw path web/outer)"').trim()
  const inner =
    played
      .results()
      .find((result) => result.endsWith('\nouter'))
      ?.split('\n')[0] ?? ''
  expect(inner).not.toBe(path)
  expect(readFileSync(join(path, 'outer.txt'), 'utf8')).toBe('outer\n')
  expect(readFileSync(join(inner, 'outer.txt'), 'utf8')).toBe('inner\n')
  expect(own.workspaces().map(({ workspace_id }) => workspace_id)).toEqual([
    'web/outer',
    expect.stringMatching(/^web\/agent-/),
  ])
  expect(stateOf(own)).toBe(before)
})

test('a worktree that is left and removed with its commits is in the trash, and comes back', async () => {
  using own = installed()
  await using played = await model({
    'come-and-go': [
      { tool: 'EnterWorktree', input: { name: 'entered' } },
      bash(`echo two > a.txt && ${commit} && echo loose > loose.txt`),
      { tool: 'ExitWorktree', input: { action: 'remove', discard_changes: true } },
      bash('pwd'),
      { text: 'back' },
    ],
  })
  expect(await ask(own, played.url, 'come-and-go')).toBe('back')
  expect(played.results().at(-1)).toBe(own.repository)
  expect(own.workspaces()).toEqual([])
  const path = own.place.aw('undelete', 'web/entered').stdout.trim()
  expect(own.sh(`cd ${path} && git log --format=%s && cat loose.txt`)).toBe('work\none\nloose\n')
})

test('what cannot be made is told, and the session does not go on in the folder of the user', async () => {
  using own = installed()
  own.sh('cd web && git config core.worktree "$PWD"')
  await using played = await model({ 'not-possible': [bash('touch here'), { text: 'done' }] })
  const ran = ask(own, played.url, 'not-possible', '--worktree', 'x')
  await expect(ran).rejects.toThrow(/core\.worktree/)
  expect(existsSync(join(own.repository, 'here'))).toBe(false)
  expect(played.results()).toEqual([])
})
