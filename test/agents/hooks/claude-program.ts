import { join } from 'node:path'
import { installedAgent } from '../installed.ts'

/** The real Claude Code. */
export const claudeProgram = (): string => join(installedAgent('claude'), 'claude')
