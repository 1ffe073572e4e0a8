import type { AgentProfile, CredentialBroker } from './profile.ts'

/** Claude Code. Its key is asked for in three places, of which the first that has one is taken. */
export const claude: AgentProfile = {
  name: 'claude',
  title: 'Claude Code',
  binary: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  version: ['--version'],
  command: ['claude', '-p', '--model={{model}}', '{{unattended}}', '{{arguments}}'],
  interactive: ['claude', '--model={{model}}', '{{arguments}}'],
  resume: ['claude', '-p', '--continue', '--model={{model}}', '{{unattended}}', '{{arguments}}'],
  prompt: 'input',
  unattended: ['--dangerously-skip-permissions'],
  files: ['CLAUDE.md'],
  state: {
    mount: '/home/agent/.claude',
    env: { CLAUDE_CONFIG_DIR: '{{state}}' },
    // Nobody is there to answer what it asks when it starts for the first time.
    files: {
      '.claude.json': JSON.stringify({
        hasCompletedOnboarding: true,
        bypassPermissionsModeAccepted: true,
        customApiKeyResponses: { approved: ['held-by-the-aw-proxy'], rejected: [] },
      }),
    },
  },
  credentials: [
    { from: { variable: 'ANTHROPIC_API_KEY' }, broker: byKey() },
    { from: { variable: 'CLAUDE_CODE_OAUTH_TOKEN' }, broker: byToken() },
    {
      from: { file: '~/.claude/.credentials.json', field: 'claudeAiOauth.accessToken' },
      broker: byToken(),
    },
  ],
  network: [],
  login: ['anthropic'],
  protect: [],
  env: { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', IS_SANDBOX: '1' },
  reads: [],
  mcp: { arguments: ['--mcp-config={"mcpServers":{"aw":{"type":"http","url":"{{url}}"}}}'] },
}

function byKey(): CredentialBroker {
  return {
    name: 'anthropic',
    upstream: 'https://api.anthropic.com',
    upstream_from: 'ANTHROPIC_BASE_URL',
    headers: { 'x-api-key': '{{value}}' },
    env: { ANTHROPIC_BASE_URL: '{{url}}' },
    // Its last 20 characters are what the state's file approves of.
    placeholder: { ANTHROPIC_API_KEY: 'sk-ant-held-by-the-aw-proxy' },
  }
}

/** Of a plan: from `claude setup-token`, or of the login of the user, as long as that is valid. */
function byToken(): CredentialBroker {
  return {
    ...byKey(),
    headers: { authorization: 'Bearer {{value}}' },
    placeholder: { CLAUDE_CODE_OAUTH_TOKEN: 'held-by-the-aw-proxy' },
  }
}
