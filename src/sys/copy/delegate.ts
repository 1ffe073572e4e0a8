import { withoutSetId } from './attributes.ts'
import { copyProgram, copyWithHelper } from './helper.ts'
import { noteName, type PartialDirectory, type State, trustedFingerprint } from './state.ts'
import { hostFs } from '../fs/host-fs.ts'
import { atBytes, nodeName } from '../trees/names.ts'
import { decodeStat, identityIn, type StatFingerprint } from '../trees/stat.ts'

/**
 * Has what is plain of a source copied by a program. True if it did: then `state.begun` has the directories in which
 * something is left, and those that lead to them.
 */
export async function delegateCopy(state: State): Promise<boolean> {
  const { options, source, target, whose, begun } = state
  const program = options.alone === true ? undefined : copyProgram()
  // What is left out, and what is there already, is looked at name by name.
  if (program === undefined || options.before !== undefined || options.rules !== undefined) return false
  const mighty: SetIdFile[] = []
  const done = await copyWithHelper({
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
      if (whose.outward) mighty.push(...setIdFilesIn(path, names, prints))
      const trustedPrints = prints.map((print) => trustedFingerprint(state, print))
      if (!whole) begun.set(path, { ...directory, names, prints: trustedPrints })
      else options.index?.add(path === '' ? '' : `${path}/`, names, trustedPrints)
    },
    onLink: (print, path) => state.links.set(identityIn(print), { way: path.split('/').map(nodeName), print }),
  })
  if (done === false) return false
  state.files += done.files
  state.bytes += done.bytes
  state.reflinked += done.reflinked
  for (const one of mighty) clearSetId(state, one)
  addToParents(begun)
  return true
}

interface SetIdFile {
  readonly directory: string
  readonly name: string
  readonly mode: number
}

/** Files that have the rights of their owner or group, with modes that the program has made them with. */
function* setIdFilesIn(
  directory: string,
  names: readonly string[],
  prints: readonly StatFingerprint[],
): Iterable<SetIdFile> {
  for (const [at, print] of prints.entries()) {
    const { kind, mode } = decodeStat(print)
    if (kind === 'file' && withoutSetId(mode) !== mode) yield { directory, name: names[at] ?? '', mode }
  }
}

/** Nobody else can reach the copy yet. */
function clearSetId({ to }: State, { directory, name, mode }: SetIdFile): void {
  const names = directory === '' ? [] : directory.split('/')
  for (const one of names) to.push(nodeName(one))
  hostFs.chmodSync(atBytes(to.top(), name), withoutSetId(mode))
  for (const _ of names) to.pop()
}

/** A directory that is not whole is left in the one that holds it, and there is something under its name. */
function addToParents(begun: Map<string, PartialDirectory>): void {
  for (const path of begun.keys()) {
    const slash = path.lastIndexOf('/')
    if (path !== '') begun.get(path.slice(0, Math.max(0, slash)))?.inside.push(path.slice(slash + 1))
  }
}

/** What is known of a directory that was begun, as a frame has it. */
export function resumeState({ names, prints, left, inside }: PartialDirectory): {
  readonly names: string[]
  readonly prints: StatFingerprint[]
  readonly left: string[]
  readonly before: Map<string, StatFingerprint>
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
