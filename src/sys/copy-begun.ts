import { nodeName } from './trees/names.ts'
import { identityIn, type Print } from './trees/stat.ts'
import { copyPlain, copyProgram } from './copy-program.ts'
import { type Begun, type State, trusted } from './copy-state.ts'

/**
 * Has what is plain of a source copied by a program. True if it did: then `state.begun` has the directories in which
 * something is left, and those that lead to them.
 */
export async function beginCopy(state: State): Promise<boolean> {
  const { options, source, target, whose, begun } = state
  const program = options.alone === true ? undefined : copyProgram()
  // What is left out, and what is there already, is looked at name by name.
  if (program === undefined || options.before !== undefined || options.rules !== undefined) return false
  const done = await copyPlain({
    program,
    from: source,
    to: target,
    own: whose.own,
    owner: whose.owner,
    remembered: options.clean !== undefined,
    durable: options.durable === true,
    guarded: options.guarded ?? new Set(),
    signal: options.signal,
    onProgress: options.onProgress,
    onDirectory: (path, { names, prints, ...directory }, whole) => {
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
  enlist(begun)
  return true
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
