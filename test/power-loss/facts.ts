/**
 * What a load says about its work, a line each, in the order in which it happened. `begin` comes before an operation is
 * called and `done` after it has answered; a digest is of a tree as the work in it was.
 */
export type Fact =
  | { readonly what: 'begin'; readonly doing: Doing }
  | {
      readonly what: 'done'
      readonly doing: Doing
      /** Of the workspace that was made, and what was found in it. */
      readonly id?: string
      readonly tree?: string
      readonly snapshot?: Snapshot | undefined
    }

export type Doing =
  /** Somebody writes in the tree, and nobody makes that durable. */
  | { readonly kind: 'edit' | 'snapshot'; readonly name: string }
  | { readonly kind: 'fork' | 'restore'; readonly name: string; readonly tree: string }
  | { readonly kind: 'remove'; readonly name: string; readonly snapshot: string }
  | { readonly kind: 'create' | 'destroy' | 'undelete' | 'purge'; readonly name: string }

/** One that now exists, and what it holds. */
interface Snapshot {
  readonly of: string
  readonly id: string
  readonly tree: string
}

/** `at` is the clock that all processes of a machine share. */
export type Line = Fact & { readonly at: number }

export const now = (): number => Number(process.hrtime.bigint() / 1000n)

/** What may be found of one workspace. */
export interface Expected {
  readonly name: string
  /** Known once its making was acknowledged. */
  id: string | undefined
  states: Set<State>
  /** Digests; undefined if nobody can say what is in it. */
  trees: Set<string> | undefined
  readonly snapshots: Map<string, { readonly tree: string; fate: 'there' | 'perhaps' | 'gone' }>
}

type State = 'absent' | 'ready' | 'trashed' | 'purged'

/**
 * What a disk must hold that was cut off from its machine: all that was acknowledged when the first so many lines had
 * been read, and perhaps something of what had begun when the picture was taken.
 */
export function expectedAfter(lines: readonly Line[], acknowledged: number, until: number): Expected[] {
  const all = new Map<string, Expected>()
  const of = (name: string): Expected => {
    const known = all.get(name) ?? {
      name,
      id: undefined,
      states: new Set(['absent']),
      trees: undefined,
      snapshots: new Map(),
    }
    all.set(name, known)
    return known
  }
  for (const [index, line] of lines.entries()) {
    if (line.what === 'begin' && (index < acknowledged || line.at <= until)) mayHave(of(line.doing.name), line.doing)
    if (line.what === 'done' && index < acknowledged) {
      has(of(line.doing.name), line)
      const { snapshot } = line
      if (snapshot) of(snapshot.of).snapshots.set(snapshot.id, { tree: snapshot.tree, fate: 'there' })
    }
  }
  return [...all.values()]
}

function mayHave(one: Expected, doing: Doing): void {
  const { kind } = doing
  // What was begun and is given up is known as one that is gone.
  if (kind === 'create') one.states.add('ready').add('purged')
  else if (kind === 'fork') {
    one.states.add('ready').add('purged')
    one.trees = new Set([doing.tree])
  } else if (kind === 'edit') one.trees = undefined
  else if (kind === 'restore') one.trees?.add(doing.tree)
  else if (kind === 'remove') decide(one, doing.snapshot, 'perhaps')
  else if (kind === 'destroy') one.states.add('trashed')
  else if (kind === 'undelete') one.states.add('ready')
  else if (kind === 'purge') {
    one.states.add('trashed').add('purged')
    for (const id of one.snapshots.keys()) decide(one, id, 'perhaps')
  }
}

function has(one: Expected, { doing, id, tree }: Extract<Line, { what: 'done' }>): void {
  const { kind } = doing
  if (kind === 'create' || kind === 'fork') {
    one.states = new Set(['ready'])
    one.id = id
    one.trees = tree === undefined ? undefined : new Set([tree])
  } else if (kind === 'restore') one.trees = new Set([doing.tree])
  else if (kind === 'remove') decide(one, doing.snapshot, 'gone')
  else if (kind === 'destroy') one.states = new Set(['trashed'])
  else if (kind === 'undelete') one.states = new Set(['ready'])
  else if (kind === 'purge') {
    one.states = new Set(['purged'])
    // Those that forks began as stay as long as they are needed.
    for (const snapshot of one.snapshots.keys()) decide(one, snapshot, 'perhaps')
  }
}

function decide(one: Expected, id: string, fate: 'perhaps' | 'gone'): void {
  const known = one.snapshots.get(id)
  // What is gone for certain does not come back.
  if (known !== undefined && known.fate !== 'gone') known.fate = fate
}
