import type { Bridge } from '../domain/network/bridge.ts'
import type { Broker } from '../domain/network/broker.ts'
import type { Exit, Grades, Isolation, Limits, Network } from '../domain/sandbox/spec.ts'
import type { Owner } from '../domain/workspace/state.ts'
import type { StorageCapabilities } from './storage-capabilities.ts'
import type { Attachment } from './storage-driver.ts'

/**
 * Runs commands around a tree, behind walls that the kernel holds.
 *
 * A *sandbox* (or box) is one set of walls around one tree, with any number of commands in it, one after another or at
 * once. A *supervisor* of its own holds it: a small process outside the walls that outlives whoever asked for it, so that
 * another process finds the box again; when it ends, everything in the box has ended, also what forked twice.
 *
 * **Honesty.** What a spec asks for is enforced or refused: `sandbox_unenforceable`, with the reason and what would change
 * it, before anything was started. `plan` tells beforehand, and by whom each limit is kept. A limit that the caller set
 * (`spec.limits`) and that nobody would keep is refused; of `spec.defaults` it is left out and told.
 *
 * **Plan once.** `plan` makes every decision, and `start` carries out exactly that: it takes the plan and no spec. A plan
 * is plain data: it holds nothing open, costs nothing to drop, and can wait while its intent is written to the log. What
 * may change in the meantime is checked at the start: the tree must be the one that was planned for, each name that is
 * protected must still be something that can be mounted on, one that has gone since gets a placeholder, and one that has
 * come since is protected.
 *
 * **What a command gets**: the tree at `spec.mount` (on levels without a mount of their own at its own path or, where root
 * runs it as a user who cannot get there, at one on a stage: `pwd` tells), descriptors 0 to 2 and no other, the
 * environment that is given and nothing of ours, the walls of the level. What it and its children write is bytes and
 * never trusted.
 *
 * The names of boxes are given by the caller, which has written them to the log first. Nobody starts one name twice at
 * once. Every wait ends with the signal.
 */
export interface SandboxDriver extends AsyncDisposable {
  readonly isolation: Isolation
  /** Whether it works here, tried for real once; explains itself, never throws, leaves nothing behind. */
  probe(): Promise<Probe>
  /**
   * Refuses, as `plan` would, whatever of a spec does not depend on what is in the tree: for a tree that is yet to be
   * made. Makes nothing. What it lets through may still be refused by `plan`.
   *
   * @param trees what trees are like where it will be
   */
  check(
    spec: Omit<SandboxSpec, 'attachment'>,
    trees: Pick<StorageCapabilities, 'visibility' | 'idmap' | 'owner'>,
  ): Promise<void>
  /**
   * Decides how the spec is enforced: walls, mounts, limits, network, and the programs that make them. Rejects with
   * `sandbox_unenforceable` if a part of it cannot be. Starts nothing.
   */
  plan(spec: SandboxSpec): Promise<Plan>
  /**
   * Starts what was planned: the very value that `plan` of this driver answered, not a copy of it (`invalid_input`).
   * All of it or nothing: on rejection nothing is left, and nothing of it ran. `path_outside_workspace` if another
   * directory is now where the tree was.
   */
  start(name: string, plan: Plan, options?: StartOptions): Promise<Sandbox>
  /** One that was started earlier, by whomever, if it still lives. */
  find(name: string): Promise<Sandbox | undefined>
  /** Ends what lives of a box and removes all that stands for it. Absent = done; safe to repeat after a crash. */
  remove(name: string): Promise<void>
  /**
   * What is in the tree, empty, only as long as a box is around it: names that were missing there and are protected all the
   * same. Also of one that is just being started, or whose supervisor was killed; of one that is not there, none.
   */
  placeholders(name: string): Promise<readonly string[]>
  /** Whether the box was ended because its tree had grown beyond its size limit; known until `remove`. */
  endedBySize(name: string): Promise<boolean>
  /** All that have left a trace: living, or whose supervisor was killed. */
  list(): Promise<{ readonly name: string; readonly alive: boolean }[]>
}

export type Probe =
  | { readonly usable: true; readonly notes: readonly string[] }
  | { readonly usable: false; readonly reasons: readonly string[]; readonly hint?: string | undefined }

export interface SandboxSpec {
  readonly attachment: Attachment
  /** Where the tree is inside: absolute, `/workspace` by default of the caller. Without meaning for `none` and `guarded`. */
  readonly mount: string
  /** Where in the tree the work is, as `work`: git may have its repository there. Without it, at the tree's root. */
  readonly content?: string | undefined
  /**
   * Names below the tree's root, as `.aw` or `work/.git/hooks`, that are read-only and there before anything runs. One
   * that is missing is there, empty, as long as the box is. `sandbox_unenforceable` if its directory is missing
   * (`data.missing`), if a link is in the way, and on levels that cannot hold a part of a tree.
   */
  readonly protect: readonly string[]
  /**
   * The same as far as there is something to hold, in every tree: `work/.git/hooks` of one without `work/.git` is left to
   * the box, and so is what a link leads to, which the plan's notes tell. A file in the place of `work/.git` is held itself.
   */
  readonly protectWithin?: readonly string[] | undefined
  /** As its owner names the workspace, to tell those inside what to ask for. */
  readonly label?: string | undefined
  /**
   * Other trees: shared areas, a program's own files. Absolute on both sides. None is at or above the tree, nor at, above
   * or below a name that is protected.
   */
  readonly binds: readonly { readonly source: string; readonly target: string; readonly writable: boolean }[]
  readonly network: Network
  /**
   * Where its proxy writes what was asked for; without it, into a file that goes with the box. When it has grown large it
   * is put aside with the ending `.1`, in the place of the one before it.
   */
  readonly networkLog?: string | undefined
  /**
   * Services that the box uses with credentials which never enter it: at `brokerUrl(name)` its proxy passes requests on to
   * the broker's upstream, and adds the headers. Only there is an upstream reached because of its broker; `network` says
   * what else is, with an empty list nothing. Their headers are in no record, log, argument, environment or error, and in
   * no file but one that only whoever starts the box can read and that goes with it.
   *
   * `sandbox_unenforceable` unless the network is `allowlist` and the level gives the box a network of its own;
   * `invalid_input` if one is no broker (`parseBrokers`).
   */
  readonly brokers?: readonly Broker[] | undefined
  /**
   * The MCP tools of its workspace, at `bridgeUrl`: its proxy passes requests on to the daemon, with a token that is as
   * hidden as the headers of a broker and that comes with the start. With the network `none` it is all that can be
   * reached. `sandbox_unenforceable` with the network `host`, and on levels that give the box no network of its own.
   */
  readonly bridge?: Pick<Bridge, 'directory'> | undefined
  /** What was asked for; each is enforced or the start is refused. */
  readonly limits: Limits
  /** What applies besides, as well as it can be had. */
  readonly defaults: Limits
  /** Every limit of memory, cpu and processes must be held by a cgroup, or the start is refused. */
  readonly cgroupRequired: boolean
  /** Directories to measure while it lives; everything in it is ended when they hold more than `maxBytes` together. */
  readonly size?: SizeWatch | undefined
  /** For every command in it, beside the level's own (PATH, HOME, …). */
  readonly env: Readonly<Record<string, string>>
  /** Directories, by their paths inside, that PATH begins with. */
  readonly programs?: readonly string[] | undefined
  /** Who commits with git in a `namespace` box, unless the repository or the agent says otherwise. */
  readonly gitUser?: { readonly name: string; readonly email: string } | undefined
  /** The host's user id to run as; only root can choose. Never 0 in `guarded` and `namespace`. */
  readonly uid?: number | undefined
  /** Whom its proxy runs as, if root starts it: somebody who is nothing else. Only root can choose, and has to. */
  readonly proxyUid?: number | undefined
  /** It ends when whoever started it lets go of it, or dies. */
  readonly once?: boolean | undefined
}

export interface SizeWatch {
  readonly paths: readonly string[]
  /** Sizes of files; 0 for no limit yet. */
  readonly maxBytes: number
  /** How often they are measured, unless that would take more than a small part of the time. */
  readonly everyMs: number
}

/** What `plan` decided, as far as others may know it. */
export interface Plan {
  readonly grades: Grades
  /** What of `defaults` and `protectWithin` nobody keeps here, or keeps otherwise, in words. */
  readonly notes: readonly string[]
}

export interface StartOptions {
  readonly signal?: AbortSignal | undefined
  /** For the bridge; a spec that has one is not started without it. */
  readonly bridgeToken?: string | undefined
}

/**
 * A box that lives, as one process is connected to it. Disposing of it lets go of it; the box lives on, unless it is `once`
 * and we have started it.
 */
export interface Sandbox extends AsyncDisposable {
  readonly name: string
  /** Its supervisor. */
  readonly owner: Owner
  readonly plan: Plan
  /** Many may run at once; one whose output is not read does not slow the others. */
  exec(command: Command): Execution
  /**
   * Begins a command that goes on when we let go of the box, or die: what it writes and how it ends is kept in a directory
   * outside, for `KeptLogs` to read. Resolves when it has begun; rejects as `Execution.exit` does.
   */
  keep(command: KeptCommand): Promise<{ readonly exit: Promise<Exit> }>
  /** To a kept command, whoever began it; 0 only asks. False if none with that directory runs here. */
  signalKept(directory: string, signal: string | 0): Promise<boolean>
  /** A TCP connection to a port that something inside listens on at its loopback; `unsupported` where it is the host's. */
  connect(port: number, options?: Pick<StartOptions, 'signal'>): Promise<Connection>
  /**
   * Makes a file outside the tree that commands of the box can read and others cannot, whole or not at all; answers its
   * path as they see it. `name` is a plain name; the same again replaces it.
   */
  put(name: string, content: Uint8Array, mode: number): Promise<string>
  /** Takes such a file away. Absent = done. What a command has read of it, or copied, it keeps. */
  take(name: string): Promise<void>
  /** Stops all that runs inside where it is, so that nothing writes; it goes on after `thaw`, or when we are gone. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** How many commands run, and how many processes there are beside the box's own. */
  status(): Promise<{ readonly commands: number; readonly processes: number }>
  /** Changes `maxBytes` of its size watch; without one, nothing happens. */
  limitSize(maxBytes: number): Promise<void>
  /** SIGTERM to all inside, SIGKILL after the grace; resolves when nothing of the box is left. */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

export interface Command {
  readonly argv: readonly string[]
  /** Below the tree's root, as the caller's files are named; `.` is the root. Opened below it, no link leads out. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly limits: Limits
  /** It has a terminal, and all its output is `stdout`. */
  readonly terminal?: { readonly columns: number; readonly rows: number } | undefined
  /** What it reads; without it, nothing is there to read. */
  readonly input?: AsyncIterable<CommandInput> | undefined
  /** Ends it, and all of its session, when it fires: it is then `signal: SIGKILL`. */
  readonly signal?: AbortSignal | undefined
}

/** Input ends when we let go of the box. A signal of ours, once it has begun, does not end it. */
export interface KeptCommand extends Command {
  /** There, empty, and ours alone. */
  readonly directory: string
  /** The most that its log may have; then the oldest of it goes. */
  readonly logBytes: number
  /** The box ends with it. */
  readonly endsBox: boolean
  /** What is started outside when it has ended, or its box, and we are not connected any more. */
  readonly follower?: Follower | undefined
}

export interface Follower {
  /** The program is an absolute path. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export type CommandInput =
  | { readonly kind: 'data'; readonly data: Uint8Array }
  /** Nothing more to read; signals may still follow. Also when the iteration ends. */
  | { readonly kind: 'end' }
  /** As `SIGINT`, to all of its foreground. */
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'resize'; readonly columns: number; readonly rows: number }

export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr'
  readonly data: Uint8Array
}

export interface Execution {
  /** Read once. If it is not read, the command waits when it has written a little. */
  readonly output: AsyncIterable<OutputChunk>
  /** `file_not_found`, `permission_denied` if it could not be started; `sandbox_gone` if the box ended under it. */
  readonly exit: Promise<Exit>
}

export interface Connection extends AsyncDisposable {
  readonly received: AsyncIterable<Uint8Array>
  send(data: Uint8Array): Promise<void>
  /** Nothing more will be sent; what comes can still be read. */
  end(): Promise<void>
}
