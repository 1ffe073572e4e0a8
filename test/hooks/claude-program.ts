import { join } from 'node:path'
import { installedAgent } from '../agents/installed.ts'

/** The real Claude Code. */
export const claudeProgram = (): string => join(installedAgent('claude'), 'claude')
