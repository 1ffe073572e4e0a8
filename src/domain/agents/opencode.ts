import type { AgentProfile, Credential } from './profile.ts'

/** OpenCode. It works with many providers; those are here that it can be led to the proxy for. */
export const opencode: AgentProfile = {
  name: 'opencode',
  title: 'OpenCode',
  binary: 'opencode',
  install: 'npm install -g opencode-ai',
  version: ['--version'],
  command: ['opencode', 'run', '--model={{model}}', '{{unattended}}', '{{arguments}}'],
  interactive: ['opencode', '--model={{model}}', '{{arguments}}'],
  resume: ['opencode', 'run', '--continue', '--model={{model}}', '{{unattended}}', '{{arguments}}'],
  prompt: 'input',
  unattended: ['--auto'],
  files: ['AGENTS.md'],
  state: {
    mount: '/home/agent/.opencode',
    env: {
      XDG_CONFIG_HOME: '{{state}}/config',
      XDG_DATA_HOME: '{{state}}/data',
      XDG_STATE_HOME: '{{state}}/state',
      XDG_CACHE_HOME: '{{state}}/cache',
    },
    files: {},
    instructions: 'config/opencode/AGENTS.md',
  },
  credentials: [
    byKey('anthropic', 'ANTHROPIC_API_KEY', 'https://api.anthropic.com', { 'x-api-key': '{{value}}' }),
    byKey('openai', 'OPENAI_API_KEY', 'https://api.openai.com', { authorization: 'Bearer {{value}}' }),
  ],
  network: [],
  login: ['anthropic', 'openai'],
  protect: [],
  env: {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_SHARE: '1',
  },
  reads: [],
  mcp: {
    env: { OPENCODE_CONFIG: '{{state}}/aw-mcp.json' },
    files: { 'aw-mcp.json': '{"mcp":{"aw":{"type":"remote","url":"{{url}}","oauth":false}}}' },
  },
}

function byKey(
  provider: string,
  variable: string,
  upstream: string,
  headers: Readonly<Record<string, string>>,
): Credential {
  const options = { provider: { [provider]: { options: { baseURL: '{{url}}/v1' } } } }
  return {
    from: { variable },
    broker: {
      name: provider,
      upstream,
      headers,
      env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(options) },
      placeholder: { [variable]: 'held-by-the-aw-proxy' },
    },
  }
}
