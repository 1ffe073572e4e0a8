import { join } from 'node:path'
import type { CredentialSource } from '../../domain/agents/profile.ts'
import type { Agents } from '../../ports/agents.ts'
import { makeAgentDirectories, removeAgentDirectories } from './host/directories.ts'
import { jsonFilesIn, readUserFile } from './host/user-files.ts'
import { resolveProgram } from './programs/resolve.ts'

export interface AgentsOptions {
  /** Where each workspace has a directory, which is ours alone. */
  readonly directory: string
  /** Where the user's own profiles are. */
  readonly profiles: string
  /** The environment of whoever asks: of this process, or what was given in its place. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Of the user; empty if there is none. */
  readonly userHome: string
  /** No program is taken from there. */
  readonly avoid: readonly string[]
  /** Whom the state of agents belongs to; undefined for the user of this process. */
  readonly owner: number | undefined
}

/** Agents of this machine, with the environment and the files of the user of this process. */
export function linuxAgents({ directory, profiles, env, userHome, avoid, owner }: AgentsOptions): Agents {
  const pathOf = (path: string): string => (path.startsWith('~/') ? join(userHome, path.slice(2)) : path)
  return {
    written: async () => jsonFilesIn(profiles),
    find: (binary, reads = []) =>
      resolveProgram(binary, { path: env['PATH'] ?? '', home: userHome, avoid }, reads.map(pathOf)),
    async value(source) {
      const text = 'variable' in source ? env[source.variable] : fieldOf(source, readUserFile(pathOf(source.file)))
      return text?.trim() || undefined
    },
    prepare: (workspace, agent, wanted) => makeAgentDirectories(join(directory, workspace, agent), wanted, owner),
    remove: (workspace) => removeAgentDirectories(directory, workspace),
  }
}

/** A file that is not what it should be has no value: the next way to a credential is tried. */
function fieldOf({ field }: Extract<CredentialSource, { file: string }>, text: string | undefined): string | undefined {
  if (text === undefined || field === undefined) return text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  for (const name of field.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  }
  return typeof value === 'string' ? value : undefined
}
