/**
 * What `aw` knows of a coding agent: how it is started, and what its sandbox must hold so that it works there. It is data:
 * a user adds one, or changes a built-in one, with a JSON file that has these fields (see docs/guides/agents.md).
 *
 * Texts are templates: `{{name}}` is replaced. An argument that mentions a value which nobody gave is left out whole, so
 * `--model={{model}}` is there only with a model; an argument that is a list, as `{{arguments}}` alone, becomes its items.
 */
export interface AgentProfile {
  /** As it is asked for: `claude`. Of a user's file, the name of the file. */
  readonly name: string
  readonly title: string
  /** A name that is looked up in the caller's PATH, or an absolute path. Inside it is in PATH under its last name. */
  readonly binary: string
  /** What to type to have it. */
  readonly install: string
  /** Arguments with which it tells its version and ends. */
  readonly version: readonly string[]
  /**
   * Works on a prompt and ends. Besides `{{prompt}}` and `{{model}}` there are `{{arguments}}`, what the caller adds, and
   * `{{unattended}}`.
   */
  readonly command: readonly string[]
  /** Talks to a person in a terminal. */
  readonly interactive: readonly string[]
  /** The same as `command`, but goes on with the last session of the workspace. Empty if it cannot. */
  readonly resume: readonly string[]
  /** How the prompt gets to it: on its standard input, or in an argument. */
  readonly prompt: 'input' | 'argument'
  /** Arguments that keep it from asking for permission. They are given only where there are walls around it. */
  readonly unattended: readonly string[]
  /** Names of the files that it reads as instructions. What comes with a workspace is put there, at its root. */
  readonly files: readonly string[]
  readonly state: AgentState
  /** Ways to a credential, the best first. The first whose value is there is taken. */
  readonly credentials: readonly Credential[]
  /** Rules and presets of the network that it always needs. */
  readonly network: readonly string[]
  /** The same, if no credential is brokered: to log in and to work with what it then has itself. */
  readonly login: readonly string[]
  /** Names in the content that are read-only for it, besides the `configuration` of all agents. */
  readonly protect: readonly string[]
  /** Variables for all commands of its sandbox; one that mentions `{{model}}`, for those that are given a model. */
  readonly env: Readonly<Record<string, string>>
  /** What it needs to read besides its own package: absolute paths, or `~/` below the user's home. */
  readonly reads: readonly string[]
  /** How it finds the MCP tools of its workspace, in a sandbox that has a bridge to them. */
  readonly mcp: AgentMcp
}

/** Texts with `{{url}}`, where the tools are, and `{{state}}`, the directory of its state. */
export interface AgentMcp {
  /** Arguments for its program, before all others. */
  readonly arguments?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Files that are put in the directory of its state, as long as nobody has made them: text by path. */
  readonly files?: Readonly<Record<string, string>> | undefined
}

/** A directory of its own in each workspace's sandbox that outlives the sandbox: settings, sessions, a login. */
export interface AgentState {
  /** Where it is in a `namespace` sandbox. Elsewhere it is where it is on the host. */
  readonly mount: string
  /** Variables that point to it: `{{state}}`. */
  readonly env: Readonly<Record<string, string>>
  /** Files that are put there once, as long as nobody has made them: text by path. */
  readonly files: Readonly<Record<string, string>>
  /**
   * A file there that it reads as instructions of its user. What comes with a workspace is put into it if the content is
   * below the root of the workspace, for an agent that does not look above its repository by itself.
   */
  readonly instructions?: string | undefined
}

/** One way to a credential: where its value is, and how the agent may use it. */
export interface Credential {
  readonly from: CredentialSource
  /** The proxy of the sandbox adds it, and it never gets inside. */
  readonly broker?: CredentialBroker | undefined
  /** It is a file inside that only the agent's user can read, and this variable has its path. */
  readonly file?: { readonly variable: string } | undefined
}

/**
 * A variable of the caller; or a file below the user's home or at an absolute path, whole or one field of JSON
 * (`tokens.access`).
 */
export type CredentialSource =
  | { readonly variable: string }
  | { readonly file: string; readonly field?: string | undefined }

export interface CredentialBroker {
  /** What requests inside go through: `http://127.0.0.1:3128/.aw/NAME`. */
  readonly name: string
  /** Origin and base path of the service. */
  readonly upstream: string
  /** A variable of the caller that names another service in its place, as a gateway of a company. */
  readonly upstream_from?: string | undefined
  /** Headers that the proxy sets: `{{value}}` is the credential. */
  readonly headers: Readonly<Record<string, string>>
  /** Variables that lead the agent there: `{{url}}` is the address inside. */
  readonly env: Readonly<Record<string, string>>
  /** Variables that make it believe that it has the credential, with what stands in its place. */
  readonly placeholder: Readonly<Record<string, string>>
  /** Arguments that lead it there, before all others. */
  readonly arguments?: readonly string[] | undefined
}
