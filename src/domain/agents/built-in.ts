import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import type { AgentProfile } from './profile.ts'
import { opencode } from './opencode.ts'

/** The agents that are known without a file, by name. */
export const builtInAgents: Readonly<Record<string, AgentProfile>> = { claude, codex, gemini, opencode }

/** What a profile is that says nothing more. */
export const plainAgent = (name: string): AgentProfile => ({
  name,
  title: name,
  binary: '',
  install: '',
  version: ['--version'],
  command: [],
  interactive: [],
  resume: [],
  prompt: 'argument',
  unattended: [],
  files: ['AGENTS.md'],
  state: { mount: `/home/agent/.${name}`, env: {}, files: {} },
  credentials: [],
  network: [],
  login: [],
  protect: [],
  env: {},
  reads: [],
  mcp: {},
})
