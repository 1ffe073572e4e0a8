import type { CredentialSource } from '../domain/agents/profile.ts'

/**
 * What the core needs of the machine to start a coding agent in a sandbox: the user's own profiles, where the agent's
 * program is and what it reads, the user's credentials, and a directory for each workspace and agent outside its tree.
 */
export interface Agents {
  /** The profiles that the user wrote, not checked yet. */
  written(): Promise<readonly UserProfile[]>

  /**
   * Where a program is that the caller would start by this name, or by this absolute path. Never one that lies where
   * agents work. Undefined if there is none. `reads` are paths that it needs besides; `~/` is the user's home.
   */
  find(binary: string, reads?: readonly string[]): Promise<FoundProgram | undefined>

  /** The value of a credential, if it is there. Read when it is asked for and kept by nobody. */
  value(source: CredentialSource): Promise<string | undefined>

  /**
   * Makes what an agent has in a workspace, or finds it: its state, which it writes, and a directory in which the program
   * is found under its name. `workspace` is its id, or the name of a tree that is there for a while. `files` are made in the state if they are not there. Safe to repeat after a crash.
   */
  prepare(workspace: string, agent: string, wanted: WantedDirectories): Promise<AgentDirectories>

  /** Erases what all agents have in a workspace. Absent = done. */
  remove(workspace: string): Promise<void>
}

export interface UserProfile {
  /** Its file's name without `.json`. */
  readonly name: string
  readonly file: string
  /** What the JSON says; an `AwError` if it is none. */
  readonly content: unknown
}

export interface FoundProgram {
  /** Without links: what is started in the end. */
  readonly path: string
  /** What it is started by, as `node`, if it is a script: where that is, and its version if that matters. */
  readonly runtime?: { readonly name: string; readonly path: string; readonly version?: string | undefined } | undefined
  /** Files and directories that it needs, of those that not every sandbox sees. */
  readonly reads: readonly string[]
  /** Why it will not start though it is there. */
  readonly problem?: { readonly message: string; readonly hint: string } | undefined
}

export interface WantedDirectories {
  /** The name it has inside, where it is, and arguments that come before all others. */
  readonly program: { readonly name: string; readonly path: string; readonly arguments: readonly string[] }
  readonly runtime?: FoundProgram['runtime']
  readonly files: Readonly<Record<string, string>>
  /** A file in the state that has this text, as one block between markers, beside what the agent writes there. */
  readonly instructions?: { readonly path: string; readonly text: string } | undefined
}

export interface AgentDirectories {
  readonly state: string
  /** Never changes once it is made: another program is in another directory. */
  readonly programs: string
}
