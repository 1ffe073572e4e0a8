import type { AgentProfile } from './profile.ts'

/** Gemini CLI. A login with Google needs a browser; what is brokered is a key of the API. */
export const gemini: AgentProfile = {
  name: 'gemini',
  title: 'Gemini CLI',
  binary: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  version: ['--version'],
  command: ['gemini', '--model={{model}}', '{{unattended}}', '{{arguments}}'],
  interactive: ['gemini', '--model={{model}}', '{{arguments}}'],
  resume: ['gemini', '--resume=latest', '--model={{model}}', '{{unattended}}', '{{arguments}}'],
  prompt: 'input',
  unattended: ['--approval-mode=yolo'],
  files: ['GEMINI.md'],
  state: {
    mount: '/home/agent/.gemini-cli',
    env: { GEMINI_CLI_HOME: '{{state}}' },
    // With another address it does not choose the key by itself.
    files: {
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      }),
    },
    instructions: '.gemini/GEMINI.md',
  },
  credentials: [
    {
      from: { variable: 'GEMINI_API_KEY' },
      broker: {
        name: 'gemini',
        upstream: 'https://generativelanguage.googleapis.com',
        upstream_from: 'GOOGLE_GEMINI_BASE_URL',
        headers: { 'x-goog-api-key': '{{value}}' },
        env: { GOOGLE_GEMINI_BASE_URL: '{{url}}' },
        placeholder: { GEMINI_API_KEY: 'held-by-the-aw-proxy' },
      },
    },
  ],
  network: [],
  login: ['google'],
  protect: [],
  env: { GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' },
  reads: [],
  // It takes other servers from the user's settings alone, which are its own to write.
  mcp: {},
}
