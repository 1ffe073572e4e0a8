/** What comes with a workspace for its agent is in what the real programs send to their models, in every layout. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { standIn } from './stand-in.ts'
import { credentialAt, key, stage, type Stage } from './fixture.ts'

const codex = { agent: 'codex', variable: 'OPENAI_API_KEY', model: 'played' } as const

/** In the usual layout the repository is below the root of the workspace, where agents do not look by themselves. */
const cases = [
  { layout: 'aw', agent: 'claude', variable: 'ANTHROPIC_API_KEY', model: 'claude-sonnet-4-5' },
  { layout: 'aw', ...codex },
  { layout: 'aw', agent: 'gemini', variable: 'GEMINI_API_KEY', model: 'gemini-2.5-flash' },
  { layout: 'aw', agent: 'opencode', variable: 'ANTHROPIC_API_KEY', model: 'anthropic/claude-sonnet-4-5' },
  { layout: 'repo', ...codex },
] as const

const ofProject = 'The project wants tabs and never spaces'
const ofTask = 'The task wants the colour heliotrope'

/** A repository whose owner has written something for agents too. */
function repository(own: Stage): string {
  const folder = join(own.here.folder, 'project')
  const git = (...args: readonly string[]) => execFileSync('git', ['-C', folder, ...args], { stdio: 'pipe' })
  execFileSync('git', ['init', '-q', folder])
  for (const name of ['CLAUDE.md', 'AGENTS.md', 'GEMINI.md']) writeFileSync(join(folder, name), `${ofProject}\n`)
  git('add', '.')
  git('-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-qm', 'first')
  execFileSync('chown', ['-R', own.here.sh('stat -c %u:%g .').stdout.trim(), folder])
  return folder
}

it.each(cases)('$agent is told by the project and by its task in the layout $layout', async (one) => {
  const { layout, agent, variable, model } = one
  await using api = await standIn([{ text: 'Understood' }])
  await using own = stage('ordinary', agent)
  own.here.env[variable] = key
  own.profile(agent, { credentials: credentialAt(agent, variable, api.url) })
  const run = ['run', '--repo', repository(own), '--profile', layout, '--config', JSON.stringify({ claude_md: ofTask })]
  const { code, stderr } = await own.aw([...run, '--agent', agent, '--model', model, '--id', 'job', 'Begin'])
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  const isTold = (text: string): boolean => api.seen.some(({ body }) => body.includes(text))
  expect({ project: isTold(ofProject), task: isTold(ofTask) }).toEqual({ project: true, task: true })
  // Nothing of it is the agent's work; where there is a place beside the content, it is not in that either.
  expect((await own.aw(['diff', 'job'])).stdout).not.toMatch(/CLAUDE|AGENTS|GEMINI/)
  const within = own.here.sh(`grep -rlF '${ofTask}' "$AW_HOME/workspaces/job/main/work/"`)
  if (layout === 'aw') expect(within).toMatchObject({ code: 1, stdout: '' })
})
