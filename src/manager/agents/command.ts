import { fillArguments, fillPairs } from '../../domain/agents/fill.ts'
import type { AgentProfile } from '../../domain/agents/profile.ts'
import { AwError } from '../../domain/errors.ts'
import type { Isolation } from '../../domain/sandbox/spec.ts'
import type { Core } from '../core.ts'
import { agentOf } from './profiles.ts'

export interface AgentTask {
  /** Without it, the agent is to talk to a person in a terminal. */
  readonly prompt?: string | undefined
  readonly model?: string | undefined
  /** What the caller adds for this agent. */
  readonly arguments?: readonly string[] | undefined
  /** Go on with the last session of the workspace. */
  readonly resume?: boolean | undefined
  /** Of the sandbox it will run in: without walls it is not told to do everything without asking. */
  readonly isolation: Isolation
}

export interface AgentCommand {
  readonly argv: readonly string[]
  /** All that it is to read; then its input ends. Without it, nothing is there to read. */
  readonly stdin?: string | undefined
  /** Besides what its sandbox has. */
  readonly env: Readonly<Record<string, string>>
  /** Names of files in the content that it reads as instructions: these are to be written for it. */
  readonly files: readonly string[]
}

/**
 * What to run for a task in a sandbox that was started with `BoxFacts.agent` (or `--agent`) of the same name: program,
 * credential, state and network are the sandbox's. Looks nothing up but the profile.
 *
 * For `aw run --agent NAME`: plan the box with `agent: NAME`, write the agent files that `files` names, run `argv` with
 * `stdin` as all of its input and `env` besides the usual.
 *
 * `agent_not_found`, `invalid_config`; `unsupported` if the agent cannot resume; `invalid_input` if it has no way to take
 * a prompt, or none to do without.
 */
export async function agentCommand(core: Core, agent: string, task: AgentTask): Promise<AgentCommand> {
  const { profile } = await agentOf(core, agent)
  return commandOf(profile, task)
}

/** The same of a profile that is known. */
export function commandOf(profile: AgentProfile, task: AgentTask): AgentCommand {
  const { prompt, model, resume = false, isolation } = task
  const template = templateOf(profile, prompt !== undefined, resume)
  const byInput = profile.prompt === 'input'
  const values = {
    prompt: byInput ? undefined : prompt,
    model,
    arguments: task.arguments ?? [],
    unattended: isolation === 'none' ? [] : profile.unattended,
  }
  const { env } = splitEnv(profile)
  return {
    argv: fillArguments(template, values),
    ...(byInput && prompt !== undefined ? { stdin: prompt } : {}),
    env: fillPairs(env, { model }),
    files: profile.files,
  }
}

/** Variables that depend on what is asked of it are of the command; the others are of the sandbox. */
export function splitEnv({ env }: AgentProfile): { env: Record<string, string>; ofBox: Record<string, string> } {
  const isOfCommand = (text: string): boolean => /\{\{\s*model\s*\}\}/.test(text)
  const all = Object.entries(env)
  return {
    env: Object.fromEntries(all.filter(([, text]) => isOfCommand(text))),
    ofBox: Object.fromEntries(all.filter(([, text]) => !isOfCommand(text))),
  }
}

function templateOf(profile: AgentProfile, hasPrompt: boolean, resume: boolean): readonly string[] {
  const { name, title } = profile
  const template = resume ? profile.resume : hasPrompt ? profile.command : profile.interactive
  if (template.length > 0) return template
  if (resume)
    throw new AwError('unsupported', `${title} cannot go on with an earlier session`, {
      hint: `Begin a new one; or give the profile ${name} a field resume`,
      data: { agent: name },
    })
  throw new AwError('invalid_input', `${title} needs ${hasPrompt ? 'no prompt' : 'a prompt'}`, {
    hint: `See what it takes: aw agents show ${name}`,
    data: { agent: name },
  })
}
