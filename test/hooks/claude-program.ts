import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { inRoot } from '../../tools/root.ts'

const version = '2.1.197'

/** The real Claude Code, of the version that the payloads were recorded with. Nothing of its package runs to install it. */
export function claudeProgram(): string {
  const folder = inRoot(`node_modules/.cache/claude-code-${version}`)
  const program = `${folder}/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`
  if (!existsSync(program))
    execFileSync(
      'npm',
      ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', `@anthropic-ai/claude-code@${version}`],
      {
        timeout: 300_000,
      },
    )
  return program
}
