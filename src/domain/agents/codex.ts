import type { AgentProfile, CredentialBroker } from './profile.ts'

/** Codex. It takes another address only as a provider of its own, by arguments; a ChatGPT plan needs a login inside. */
export const codex: AgentProfile = {
  name: 'codex',
  title: 'Codex',
  binary: 'codex',
  install: 'npm install -g @openai/codex',
  version: ['--version'],
  command: ['codex', 'exec', '--skip-git-repo-check', '--model={{model}}', '{{unattended}}', '{{arguments}}', '-'],
  interactive: ['codex', '--model={{model}}', '{{arguments}}'],
  resume: [
    'codex',
    'exec',
    '--skip-git-repo-check',
    '--model={{model}}',
    '{{unattended}}',
    '{{arguments}}',
    'resume',
    '--last',
    '-',
  ],
  prompt: 'input',
  // Its own sandbox cannot be made inside another.
  unattended: ['--dangerously-bypass-approvals-and-sandbox'],
  files: ['AGENTS.md'],
  state: { mount: '/home/agent/.codex', env: { CODEX_HOME: '{{state}}' }, files: {}, instructions: 'AGENTS.md' },
  credentials: [
    { from: { variable: 'CODEX_API_KEY' }, broker: byKey() },
    { from: { variable: 'OPENAI_API_KEY' }, broker: byKey() },
    { from: { file: '~/.codex/auth.json', field: 'OPENAI_API_KEY' }, broker: byKey() },
  ],
  network: [],
  login: ['openai'],
  protect: [],
  env: {},
  reads: [],
  mcp: { arguments: ['--config=mcp_servers.aw.url="{{url}}"'] },
}

function byKey(): CredentialBroker {
  return {
    name: 'openai',
    upstream: 'https://api.openai.com',
    headers: { authorization: 'Bearer {{value}}' },
    env: {},
    placeholder: { OPENAI_API_KEY: 'sk-held-by-the-aw-proxy' },
    arguments: [
      '--config=model_provider="aw"',
      '--config=model_providers.aw={name="aw",base_url="{{url}}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}',
      '--config=analytics.enabled=false',
      '--config=check_for_update_on_startup=false',
    ],
  }
}
