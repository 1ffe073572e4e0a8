import { storageChoices } from '../domain/config/storage-drivers.ts'
import type { Operation } from '../api/operation.ts'
import { boolean, choice, object, optional, string, type JsonSchema } from '../api/schema.ts'
import type { ErrorCode } from '../domain/errors.ts'
import type { Arguments } from './input/arguments.ts'
import type { Globals } from './input/globals.ts'
import type { Io } from './io.ts'
import { gitOperation, shellOperation } from './sandbox/exec-variants.ts'

/** Commands that are about the command line or the home itself and so have no operation behind them. */
export interface Builtin {
  readonly name: BuiltinName
  readonly summary: string
  readonly usage: string
  readonly details: string
  readonly examples: readonly string[]
  /** Words it takes, where they are known. */
  readonly words?: readonly string[]
  /** Its first argument is the name of a workspace. */
  readonly workspace?: true
  /** Those operations that it stands with in help; the command line's own if left out. */
  readonly group?: Operation['group']
  readonly errors?: readonly ErrorCode[]
  /** Its own flags, as the input of an operation; made when the command is the one that is asked for. */
  readonly input?: () => JsonSchema
  readonly hidden?: true
}

export type BuiltinName =
  | 'help'
  | 'tour'
  | 'shell'
  | 'git'
  | 'forward'
  | 'init'
  | 'deinit'
  | 'hook'
  | 'mcp'
  | 'serve'
  | 'completion'
  | '__names'

/** `given`: also the flags of its own, and the program that it is to run. */
export type BuiltinCommand = (args: readonly string[], globals: Globals, io: Io, given: Arguments) => Promise<number>

export const builtins: readonly Builtin[] = [
  {
    name: 'help',
    summary: 'Show help for a command',
    usage: 'aw help [COMMAND]',
    details: 'Without a command: all of them. aw help exit-codes lists what the exit codes mean.',
    examples: ['aw help', 'aw help create', 'aw help exit-codes'],
  },
  {
    name: 'tour',
    summary: 'See a workspace made, used, undone, forked, destroyed and brought back',
    usage: 'aw tour',
    details: 'Runs real commands in a temporary home and removes it at the end. Your own workspaces are not touched.',
    examples: ['aw tour'],
  },
  {
    name: 'shell',
    summary: 'Open a shell in a workspace, behind its walls',
    usage: 'aw shell ID [flags] [-- COMMAND...]',
    details:
      'In the sandbox that aw start made, else in one of its own that ends with it. The shell is /bin/bash if it is ' +
      'there, else /bin/sh; any other program can be named. It needs a terminal, whose keys and size it gets.',
    examples: ['aw shell fix-login', 'aw shell fix-login --allow github', 'aw shell fix-login -- python3'],
    input: () => shellOperation().input,
    group: 'Sandboxes',
    get errors() {
      return shellOperation().errors
    },
    workspace: true,
  },
  {
    name: 'git',
    summary: 'Run git in a workspace, behind its walls',
    usage: 'aw git ID [flags] [--] COMMAND...',
    details:
      'Everything after the workspace is for git. A repository that an agent has worked in can make git run programs: ' +
      'so it runs in a sandbox of the level namespace, the one that aw start made or one of its own, and never outside.',
    examples: ['aw git fix-login status', 'aw git fix-login log --oneline -5', 'aw git fix-login diff HEAD~1'],
    input: () => gitOperation().input,
    group: 'Sandboxes',
    get errors() {
      return gitOperation().errors
    },
    workspace: true,
  },
  {
    name: 'forward',
    summary: 'Bring a port of a sandbox out to this machine',
    usage: 'aw forward ID [LOCAL:]PORT',
    details:
      'Listens at 127.0.0.1 and nowhere else, and prints the address. Each connection becomes one to the port inside, ' +
      'where something that was started in the sandbox listens; aw start makes one that stays. 0:PORT takes any port ' +
      'that is free here. Ctrl-C ends it.',
    examples: ['aw forward fix-login 3000', 'aw forward fix-login 8080:3000'],
    group: 'Sandboxes',
    errors: ['workspace_not_found', 'invalid_state', 'sandbox_gone', 'invalid_input', 'unsupported'],
    workspace: true,
  },
  {
    name: 'init',
    summary: 'Choose how this home keeps its trees, or make a btrfs pool for it',
    usage: `aw init [--storage ${storageChoices.join('|')}] [--size SIZE] [--check]`,
    details:
      'A home sets itself up when it is first used; this is to choose, as long as it holds no tree. Where the home is ' +
      'not on btrfs, --storage btrfs lets root make a pool: a btrfs in a sparse image file of the home, mounted at its ' +
      'storage root, for snapshots and forks in constant time. Root may do so for another user with --home. The same ' +
      'again changes nothing, but mounts a pool that is not mounted, and enlarges it to a larger --size.',
    examples: ['aw init', 'aw init --storage btrfs --size 20G', 'aw init --check'],
    input: () =>
      object({
        storage: optional(choice(storageChoices, 'The storage driver; without it, what storage.driver says')),
        size: optional(string('Size of the pool, as 500M or 20G; by default half of what is free')),
        check: optional(boolean('Read everything in the pool and compare it with its checksums')),
      }),
  },
  {
    name: 'deinit',
    summary: 'Remove the storage of a home that holds no tree',
    usage: 'aw deinit [--yes]',
    details:
      'Unmounts and deletes a pool, and forgets which driver was chosen. Refused while there is a workspace, also in ' +
      'the trash, a template, or any other tree; bases that no workspace needs go with it. The log stays. The next use of the home chooses anew.',
    examples: ['aw deinit', 'aw deinit --yes'],
    input: () => object({ yes: optional(boolean('Delete the image of the pool; without it, it is only named')) }),
  },
  {
    name: 'hook',
    summary: 'Give the worktrees of Claude Code a workspace each',
    usage: 'aw hook install|uninstall claude [--scope user|project|local] [--yes] [--dry-run]',
    details:
      'install adds two hooks to the settings of Claude Code: what it would make a git worktree for, with --worktree or ' +
      'for a subagent, becomes a workspace with the whole state of the folder, and what it removes goes to the trash. ' +
      'The difference is shown first. uninstall takes them out again. aw hook claude is what Claude Code runs then: it ' +
      'reads from standard input what to do, prints the path of a new workspace and nothing else, and ends with 0 or 1.',
    examples: [
      'aw hook install claude',
      'aw hook install claude --scope local --dry-run',
      'aw hook uninstall claude --yes',
    ],
    words: ['install', 'uninstall', 'claude'],
    input: () =>
      object({
        scope: optional(
          choice(
            ['user', 'project', 'local'],
            'Which settings: yours for every project (the default), those of this project that are shared, or yours for it',
          ),
        ),
        yes: optional(boolean('Do not ask')),
        dry_run: optional(boolean('Only show the difference')),
      }),
    errors: ['invalid_config', 'permission_denied', 'version_conflict'],
  },
  {
    name: 'mcp',
    summary: 'Give agents the tools of aw, over the Model Context Protocol',
    usage: 'aw mcp [install|uninstall claude|codex] [--workspace ID] [--scope user|project] [--yes] [--dry-run]',
    details:
      'install adds aw to the servers in the configuration of Claude Code or Codex, uninstall takes it out again; the ' +
      'difference is shown first. aw mcp is what the agent runs then: it speaks the protocol on standard input and ' +
      'output, and ends with its input. With --workspace its tools are about that workspace alone.',
    examples: ['aw mcp install claude', 'aw mcp install codex --dry-run', 'aw mcp --workspace fix-login'],
    words: ['install', 'uninstall', 'claude', 'codex'],
    input: () =>
      object({
        workspace: optional(string('Only the tools of this workspace')),
        scope: optional(
          choice(
            ['user', 'project'],
            'Which configuration: yours (the default), or that of this project, which is shared',
          ),
        ),
        yes: optional(boolean('Do not ask')),
        dry_run: optional(boolean('Only show the difference')),
      }),
    errors: ['workspace_not_found', 'invalid_config', 'permission_denied', 'version_conflict'],
  },
  {
    name: 'serve',
    summary: 'Run the daemon of this home: HTTP, events and MCP',
    usage: 'aw serve [--listen 127.0.0.1:PORT] [--detach | --stop | --status]',
    details:
      'Listens at a socket in the home, which only its user can reach, and where --listen says, for whoever has a token ' +
      '(aw token create). Before it takes a connection it checks the settings, tries the walls, and finishes or undoes ' +
      'what a dead process left. Other commands go through it as long as it runs. Ctrl-C or --stop ends it: what is under ' +
      'way may finish, runs and sandboxes go on unless shutdown.policy says otherwise.',
    examples: ['aw serve', 'aw serve --listen 127.0.0.1:7433', 'aw serve --detach', 'aw serve --stop'],
    input: () =>
      object({
        listen: optional(
          string('Also listen at this address of the loopback, with tokens; port 0 takes any that is free'),
        ),
        detach: optional(boolean('Return when it takes requests, and let it go on')),
        stop: optional(boolean('End the one that runs')),
        status: optional(boolean('Tell whether one runs (exit code 0 or 3)')),
      }),
    errors: ['invalid_state', 'invalid_config', 'sandbox_unenforceable', 'daemon_unavailable', 'timeout'],
  },
  {
    name: 'completion',
    summary: 'Print a completion script for your shell',
    usage: 'aw completion bash|zsh|fish',
    details:
      'Completes commands, flags, choices and the names of your workspaces. The first lines of each script say how to install it.',
    examples: ['source <(aw completion bash)', 'aw completion fish > ~/.config/fish/completions/aw.fish'],
    words: ['bash', 'zsh', 'fish'],
  },
  {
    name: '__names',
    summary: 'Print the names of workspaces, for completion',
    usage: 'aw __names [live|trashed|tasks]',
    details: 'Called by the completion scripts. Prints nothing when something is wrong.',
    examples: [],
    hidden: true,
  },
]
