import { harmless } from './attributes.ts'
import { copyPlain, copyProgram } from './helper.ts'
import { type Begun, noteName, type State, trusted } from './state.ts'
import { hostFs } from '../fs/host-fs.ts'
import { atBytes, nodeName } from '../trees/names.ts'
import { factsOf, identityIn, type Print } from '../trees/stat.ts'

/**
 * Has what is plain of a source copied by a program. True if it did: then `state.begun` has the directories in which
 * something is left, and those that lead to them.
 */
export async function beginCopy(state: State): Promise<boolean> {
  const { options, source, target, whose, begun } = state
  const program = options.alone === true ? undefined : copyProgram()
  // What is left out, and what is there already, is looked at name by name.
  if (program === undefined || options.before !== undefined || options.rules !== undefined) return false
  const mighty: Mighty[] = []
  const done = await copyPlain({
    program,
    from: source,
    to: target,
    own: whose.own,
    where: whose.where,
    owner: whose.owner,
    remembered: options.clean !== undefined,
    durable: options.durable === true,
    guarded: options.guarded ?? new Set(),
    signal: options.signal,
    onProgress: options.onProgress,
    onDirectory: (path, { names, prints, ...directory }, whole) => {
      names.forEach((name, at) => noteName(state, path === '' ? name : `${path}/${name}`, prints[at] ?? ''))
      if (whose.outward) mighty.push(...mightyIn(path, names, prints))
      const trustedPrints = prints.map((print) => trusted(state, print))
      if (!whole) begun.set(path, { ...directory, names, prints: trustedPrints })
      else options.index?.add(path === '' ? '' : `${path}/`, names, trustedPrints)
    },
    onLink: (print, path) => state.links.set(identityIn(print), { way: path.split('/').map(nodeName), print }),
  })
  if (done === false) return false
  state.files += done.files
  state.bytes += done.bytes
  state.reflinked += done.reflinked
  for (const one of mighty) makeHarmless(state, one)
  enlist(begun)
  return true
}

interface Mighty {
  readonly directory: string
  readonly name: string
  readonly mode: number
}

/** Files that have the rights of their owner or group, with modes that the program has made them with. */
function* mightyIn(directory: string, names: readonly string[], prints: readonly Print[]): Iterable<Mighty> {
  for (const [at, print] of prints.entries()) {
    const { kind, mode } = factsOf(print)
    if (kind === 'file' && harmless(mode) !== mode) yield { directory, name: names[at] ?? '', mode }
  }
}

/** Nobody else can reach the copy yet. */
function makeHarmless({ to }: State, { directory, name, mode }: Mighty): void {
  const names = directory === '' ? [] : directory.split('/')
  for (const one of names) to.push(nodeName(one))
  hostFs.chmodSync(atBytes(to.top(), name), harmless(mode))
  for (const _ of names) to.pop()
}

/** A directory that is not whole is left in the one that holds it, and there is something under its name. */
function enlist(begun: Map<string, Begun>): void {
  for (const path of begun.keys()) {
    const slash = path.lastIndexOf('/')
    if (path !== '') begun.get(path.slice(0, Math.max(0, slash)))?.inside.push(path.slice(slash + 1))
  }
}

/** What is known of a directory that was begun, as a frame has it. */
export function resumed({ names, prints, left, inside }: Begun): {
  readonly names: string[]
  readonly prints: Print[]
  readonly left: string[]
  readonly before: Map<string, Print>
} {
  const before = new Map(inside.map((name) => [name, '']))
  const kept = [...names.keys()].filter((index) => !before.has(names[index] ?? ''))
  return {
    names: kept.map((index) => names[index] ?? ''),
    prints: kept.map((index) => prints[index] ?? ''),
    left: [...left, ...inside].toReversed(),
    before,
  }
}
