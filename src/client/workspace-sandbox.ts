import type { Inputs, Outputs } from '../api/table.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { execute, type ExecOptions, type Execution } from './execution.ts'
import type { Forward, ForwardOptions } from './forward.ts'
import { streamed, type Streamed } from './streamed.ts'
import { openTerminal, type Terminal, type TerminalOptions } from './terminal.ts'
import type { Workspace, WorkspaceView } from './workspace.ts'

type Rest<N extends keyof Inputs> = Omit<Inputs[N], 'id'>

/** What can be run in a workspace. */
export interface WorkspaceSandbox {
  /** A program with its arguments, no shell. It begins at once. */
  exec(argv: readonly string[], options?: ExecOptions, context?: CallContext): Execution
  /** A program with a terminal; a shell if none is named. */
  terminal(options?: TerminalOptions, context?: CallContext): Terminal
  /** A sandbox that lives until it is stopped: commands begin faster, and what they leave running goes on. */
  start(input?: Rest<'start'>, context?: CallContext): Promise<Workspace>
  stop(input?: Rest<'stop'>, context?: CallContext): Promise<Workspace>
  /**
   * Runs an agent or a command that goes on when nobody listens any more: `await` gives all that was told, `for await`
   * tells it as it comes. A signal cancels it.
   */
  run(input: Rest<'run'>, context?: CallContext): Streamed<Outputs['run']>
  /** All of its runs, oldest first. */
  runs(input?: Rest<'runs'>, context?: CallContext): Promise<Outputs['runs']>
  /** What the last run wrote, or another. */
  logs(input?: Rest<'logs'>, context?: CallContext): Streamed<Outputs['logs']>
  cancel(input?: Rest<'cancel'>, context?: CallContext): Promise<Outputs['cancel']>
  /** Until its last run has ended. */
  wait(input?: Rest<'wait'>, context?: CallContext): Promise<Outputs['wait']>
  /** Brings a port of the started sandbox out to 127.0.0.1. */
  forward(port: number, options?: ForwardOptions, context?: CallContext): Promise<Forward>
  readonly env: WorkspaceEnv
  /** The commands that ran, oldest first. */
  history(input?: Rest<'history'>, context?: CallContext): Promise<Outputs['history']>
  /** What its sandboxes asked of the network through their allow-lists, oldest first. */
  requests(input?: Rest<'requests'>, context?: CallContext): Promise<Outputs['requests']>
}

/** What its commands are given. Values are never shown again. */
export interface WorkspaceEnv {
  set(variables: Readonly<Record<string, string>>, context?: CallContext): Promise<Outputs['env set']>
  /** As a file that only they can read; NAME_FILE tells them where. */
  setSecret(name: string, value: string, context?: CallContext): Promise<Outputs['env set']>
  unset(names: readonly string[], context?: CallContext): Promise<Outputs['env unset']>
  list(context?: CallContext): Promise<Outputs['env list']>
}

export function sandboxOf(manager: Manager, id: string, handle: (view: WorkspaceView) => Workspace): WorkspaceSandbox {
  return {
    exec: (argv, options = {}, context) => execute(manager, id, argv, options, context),
    terminal: (options = {}, context) => openTerminal(manager, id, options, context),
    start: async (input, context) => handle(await manager.call('start', { ...input, id }, context)),
    stop: async (input, context) => handle(await manager.call('stop', { ...input, id }, context)),
    run: (input, context) => streamed(manager, 'run', { ...input, id }, context),
    runs: (input, context) => manager.call('runs', { ...input, id }, context),
    logs: (input, context) => streamed(manager, 'logs', { ...input, id }, context),
    cancel: (input, context) => manager.call('cancel', { ...input, id }, context),
    wait: (input, context) => manager.call('wait', { ...input, id }, context),
    async forward(port, options, context) {
      const { forwardPort } = await import('./forward.ts')
      return forwardPort(manager, id, port, options, context)
    },
    env: {
      set: (env, context) => manager.call('env set', { id, env }, context),
      setSecret: (secret, value, context) => manager.call('env set', { id, secret, value }, context),
      unset: (names, context) => manager.call('env unset', { id, names }, context),
      list: (context) => manager.call('env list', { id }, context),
    },
    history: (input, context) => manager.call('history', { ...input, id }, context),
    requests: (input, context) => manager.call('requests', { ...input, id }, context),
  }
}
