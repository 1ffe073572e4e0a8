import { AwError } from '../../domain/errors.ts'

/** The server of `aw` as clients have it in their configuration: a name, and how it is started. */
export const serverName = 'aw'

export interface ServerEntry {
  readonly command: string
  readonly args: readonly string[]
}

/** Whether it is as this program would write it, or ours of another version and place. */
export function isOurs(found: unknown, own: ServerEntry): boolean {
  const { command, args } = (found ?? {}) as { command?: unknown; args?: unknown }
  if (typeof command !== 'string' || !Array.isArray(args) || !args.includes('mcp')) return false
  if (command === own.command && JSON.stringify(args) === JSON.stringify(own.args)) return true
  return [command, ...(args as unknown[])].some((word) => /(?:^|\/)(?:aw|aw\.cjs|main\.ts)$/.test(String(word)))
}

export const serverNameTaken = (file: string): AwError =>
  new AwError('invalid_config', `${file} has another server called ${serverName} already`, {
    hint: 'Remove or rename that one first, then run this again',
    data: { file },
  })

/** How a client keeps its servers. Both take the text of a file and answer with another, or with the same one. */
export interface Configuration {
  readonly with: (file: string, text: string, entry: ServerEntry) => string
  readonly without: (file: string, text: string, entry: ServerEntry) => string
}
