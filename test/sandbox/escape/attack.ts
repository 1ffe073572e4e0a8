import type { Sandbox, SandboxDriver, SandboxSpec } from '../../../src/ports/sandbox-driver.ts'
import { isRoot, type LevelName, type Place } from '../fixture.ts'

/** Where an attack is tried: without any wall first, to see that it is one; then behind those of each level. */
export type Where = 'plain' | LevelName

/** What comes of it, seen from outside. A start that is refused is an answer too: nothing ran. */
export type Outcome = 'held' | 'not held' | 'refused'

/** One for both, or one for an ordinary user and one for root, whose boxes run as a user of their own. */
export type Expected = Outcome | { readonly user: Outcome; readonly root: Outcome }

/** What must come of it, for whoever this is. None where it may come to either. */
export function outcomeOf(attack: Attack, where: Where): Outcome | undefined {
  // Without walls each must succeed; one that says why it does not may do so on another machine.
  if (where === 'plain') return attack.plainly === undefined ? 'not held' : undefined
  const expected = attack.expected[where]
  return typeof expected === 'string' ? expected : expected[isRoot ? 'root' : 'user']
}

export interface Attack {
  readonly name: string
  readonly kind: string
  /** What it does, as a line of the table. */
  readonly does: string
  /** Why it does not succeed without a wall here; without it, it must. */
  readonly plainly?: string | undefined
  readonly expected: Readonly<Record<LevelName, Expected>>
  /** What a reader of the table should know about an outcome. */
  readonly note?: string | undefined
  /** What it needs of its box; it then has one of its own. */
  readonly spec?: ((level: LevelName, stage: Ground) => Partial<SandboxSpec>) | undefined
  /** It breaks its box, or must be alone in it. */
  readonly alone?: boolean | undefined
  /** Tries it. Answers whether it succeeded, by what can be seen from outside and never by what it says itself. */
  readonly attempt: (stage: Stage) => Promise<boolean> | boolean
}

/** What is there before a box is. */
export interface Ground {
  /** Whom it runs as on the host. What is outside belongs to the same user: ownership alone keeps nobody out. */
  readonly uid: number
  /** On every command line of it, so that its processes are found. */
  readonly marker: string
  /** Its own directory, in the tree. */
  readonly own: string
  /** A directory that is nobody's workspace. */
  readonly outside: string
  /** Which the outer test has made as root: a program with root's rights, and a device. */
  readonly tools: string
}

export interface Stage extends Ground {
  readonly where: Where
  readonly tree: string
  /** The program of attacks by system calls, as it is called. */
  readonly tool: string
  /** Runs it to its end, in its own directory. */
  readonly run: (argv: readonly string[], options?: RunOptions) => Promise<Ended>
  /** Runs it until it says that it has tried; it stays until the stage is left. */
  readonly hold: (argv: readonly string[], options?: RunOptions) => Promise<void>
  /** Waits until it is seen that the attack got through: for as long as it takes if it must, for so long if it must not. */
  readonly harmed: (ms: number, isSo: () => boolean) => Promise<boolean>
  /** Waits until it is seen that the attack was held: for as long as it takes if it must be, for so long if not. */
  readonly held: (ms: number, isSo: () => boolean) => Promise<boolean>
  /** Undefined where there is no wall. */
  readonly box: BoxParts | undefined
  /** At the end, whatever happens. */
  readonly defer: (act: () => unknown) => void
}

export interface BoxParts {
  readonly sandbox: Sandbox
  readonly driver: SandboxDriver
  readonly place: Place
  readonly spec: SandboxSpec
}

export interface RunOptions {
  /** Below the tree; its own directory without it. */
  readonly cwd?: string | undefined
  readonly terminal?: { readonly columns: number; readonly rows: number } | undefined
  /** A descriptor that a careless parent would leave open. */
  readonly leaked?: number | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

export interface Ended {
  readonly code: number | null
  readonly bytes: number
}
