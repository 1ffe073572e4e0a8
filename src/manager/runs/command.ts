import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { Isolation } from '../../domain/sandbox/spec.ts'
import { agentCommand } from '../agents/command.ts'
import { credentialOf, sourceText } from '../agents/credentials.ts'
import { programOf } from '../agents/equipment.ts'
import { agentOf } from '../agents/profiles.ts'
import type { Core } from '../core.ts'
import { lookUp } from '../kernel/find.ts'
import type { RunCommand } from './begin.ts'

type Input = Inputs['run']

/** What is to be run, and for which agent; null if it is a command. */
export interface PlannedCommand extends RunCommand {
  readonly agent: string | null
  /** Names of files that the agent reads as instructions; they stand at the root of the workspace. */
  readonly files: readonly string[]
  /** What its owner should know before it begins. */
  readonly notes: readonly string[]
}

export async function commandFor(core: Core, input: Input): Promise<PlannedCommand> {
  const { settings } = core.config
  const { prompt, model, resume, argv = [], cwd, timeout_ms } = input
  const agent = input.agent ?? (await agentBefore(core, input)) ?? (argv.length === 0 ? settings['runs.agent'] : '')
  const common = { cwd, timeout_ms }
  if (prompt?.trim() === '')
    throw wrong('The prompt is empty', 'Say what is to be done, in quotes or as @FILE', 'prompt')
  if (agent === '') {
    if (argv.length === 0)
      throw wrong(
        'What is to be run?',
        'An agent: aw run --repo . --agent claude "…"; or a command: aw run --repo . -- npm test',
        'argv',
      )
    const meant = (
      [
        ['model', model],
        ['resume', resume],
      ] as const
    ).find(([, value]) => value !== undefined)
    if (meant !== undefined)
      throw wrong(`A command has no ${meant[0]}`, 'That is for agents; name one with --agent', meant[0])
    return { ...common, agent: null, argv, env: input.env ?? {}, prompt, files: [], notes: [] }
  }
  if (prompt === undefined)
    throw wrong(`What is ${agent} to do?`, `As in: aw run --agent ${agent} "Mend the login form"`, 'prompt')
  const isolation = input.isolation ?? (await startedWith(core, input)) ?? settings['sandbox.isolation']
  const notes = await assertReady(core, agent)
  const made = await agentCommand(core, agent, { prompt, model, resume, arguments: argv, isolation })
  const env = { ...made.env, ...input.env }
  return { ...common, agent, argv: made.argv, stdin: made.stdin, env, files: made.files, isolation, notes }
}

/** Whoever goes on with a conversation means the one who had it. */
async function agentBefore(core: Core, { id, resume }: Input): Promise<string | undefined> {
  const found = resume === true && id !== undefined ? await lookUp(core, id) : undefined
  return found?.last_run?.agent ?? undefined
}

/** Its program is there, before anything is made for it. Answers what else may be in its way. */
async function assertReady(core: Core, agent: string): Promise<string[]> {
  const { profile } = await agentOf(core, agent)
  await programOf(core, profile)
  const ways = profile.credentials.map(({ from }) => sourceText(from))
  if (ways.length === 0 || (await credentialOf(core, profile)) !== undefined) return []
  const missing = `${ways.length === 1 ? 'not' : 'neither'} ${ways.join(' nor ')}`
  return [
    `There is no key for ${profile.title}: ${missing}. It works only if it was logged in in this workspace before; set ${ways[0]}, or: aw shell ID --agent ${agent}`,
  ]
}

/** The sandbox that is around the workspace by now, in which it will run. */
async function startedWith(core: Core, { id }: Input): Promise<Isolation | undefined> {
  return id === undefined ? undefined : (await lookUp(core, id))?.sandbox?.isolation
}

const wrong = (message: string, hint: string, field: string): AwError =>
  new AwError('invalid_input', message, { hint, data: { field } })
