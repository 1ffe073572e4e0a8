import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inRoot } from '../../tools/root.ts'

/** The real programs, in the versions that the profiles were written for. */
const packages = {
  claude: '@anthropic-ai/claude-code@2.1.325',
  codex: '@openai/codex@0.166.0',
  gemini: '@google/gemini-cli@0.61.0',
  opencode: 'opencode-ai@1.18.33',
} as const

/** Other programs that are tried with ours, and too large to be a dependency. */
const tools = { inspector: '@modelcontextprotocol/inspector@2.12.0' } as const

const all = { ...packages, ...tools }

export type RealAgent = keyof typeof packages

/**
 * The directory with an agent's program, installed as a user would for all projects; about 5 seconds and 120 MB for each
 * when it is asked for the first time. Another process that does the same at once is not in the way.
 */
export function installedAgent(name: keyof typeof all): string {
  const version = all[name].slice(all[name].lastIndexOf('@') + 1)
  const folder = inRoot(`node_modules/.cache/agents/${name}-${version}`)
  if (existsSync(folder)) return join(folder, 'bin')
  mkdirSync(dirname(folder), { recursive: true })
  const unfinished = mkdtempSync(`${folder}.`)
  try {
    const args = ['install', '--global', '--prefix', unfinished, '--no-audit', '--no-fund', all[name]]
    execFileSync('npm', args, { stdio: 'pipe', timeout: 300_000 })
    execFileSync('chmod', ['-R', 'go+rX', unfinished])
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return join(folder, 'bin')
}
