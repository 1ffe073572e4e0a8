import type { Globals } from './globals.ts'
import type { Io } from './io.ts'

/** Commands that are about the command line itself and so have no operation behind them. */
export interface Builtin {
  readonly name: string
  readonly summary: string
  readonly usage: string
  readonly details: string
  readonly examples: readonly string[]
  /** Words it takes, where they are known. */
  readonly words?: readonly string[]
  readonly hidden?: true
  readonly load: () => Promise<(args: readonly string[], globals: Globals, io: Io) => Promise<number>>
}

export const builtins: readonly Builtin[] = [
  {
    name: 'help',
    summary: 'Show help for a command',
    usage: 'aw help [COMMAND]',
    details: 'Without a command: all of them. aw help exit-codes lists what the exit codes mean.',
    examples: ['aw help', 'aw help create', 'aw help exit-codes'],
    load: async () => (await import('./help.ts')).helpCommand,
  },
  {
    name: 'tour',
    summary: 'See a workspace made, used, destroyed and brought back',
    usage: 'aw tour',
    details: 'Runs real commands in a temporary home and removes it at the end. Your own workspaces are not touched.',
    examples: ['aw tour'],
    load: async () => (await import('./tour.ts')).tourCommand,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for your shell',
    usage: 'aw completion bash|zsh|fish',
    details:
      'Completes commands, flags, choices and the names of your workspaces. The first lines of each script say how to install it.',
    examples: ['source <(aw completion bash)', 'aw completion fish > ~/.config/fish/completions/aw.fish'],
    words: ['bash', 'zsh', 'fish'],
    load: async () => (await import('./completion.ts')).completionCommand,
  },
  {
    name: '__names',
    summary: 'Print the names of workspaces, for completion',
    usage: 'aw __names [live|trashed|tasks]',
    details: 'Called by the completion scripts. Prints nothing when something is wrong.',
    examples: [],
    hidden: true,
    load: async () => (await import('./completion.ts')).namesCommand,
  },
]
