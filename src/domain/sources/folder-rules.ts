import { AwError } from '../errors.ts'
import { type GitIndex, type IndexEntry, parseIndex, submoduleMode } from '../git/index.ts'
import { ignoreRules, parseIgnoreFile, type IgnoreRules } from './ignore-rules.ts'

/**
 * What of a folder is left out of a copy, asked from the top down, directory by directory.
 *
 * - `exclude`: patterns as in a `.gitignore` at the folder's top. They come first and have the last word.
 * - `ignored`: what becomes of the things that git ignores. `all`: they are like others. `none`: they are left out.
 *   `listed`: they are left out, but for those that the patterns in the folder's `.worktreeinclude` fit.
 *
 * What git ignores is what the folder's own `.gitignore` files say, and `.git/info/exclude`; neither a user's own
 * file nor those above the folder are looked for. What is in the index is not ignored, whatever fits it: a copy without
 * it would look as if somebody had removed it. A repository inside the folder has rules and an index of its own.
 */
export interface FolderRulesOptions {
  readonly exclude?: readonly string[] | undefined
  readonly ignored?: 'all' | 'listed' | 'none' | undefined
}

/** `in` and `out` go for all that is in a directory; of one that is `perhaps`, only what is below it and `in` is taken. */
export type Verdict = 'in' | 'out' | 'perhaps'

/** The rules for what is right in one directory. Names are bytes, one character each (latin1). */
export interface FolderRules {
  readonly verdict: (name: string, isDirectory: boolean) => Verdict
  /** Those of a directory in it that is not `out`. */
  readonly below: (name: string, verdict: Verdict, read: ReadRules) => FolderRules
}

/** The text of a file of that directory, by its path; undefined if there is none, or it is not to count. */
export type ReadRules = (path: string) => string | undefined

interface Level {
  /** Of the directory, with a slash behind it; empty for the top. */
  readonly path: string
  /** In what was ignored itself: `out` but for what is listed; or all of it was listed. */
  readonly within: 'ignored' | 'listed' | undefined
  /** The nearest first, each with the length of the path of the directory that it is for. */
  readonly lists: readonly { readonly from: number; readonly rules: IgnoreRules }[]
  readonly tracked: Tracked
}

/** What the index of the repository has, by paths from its top. */
interface Tracked {
  readonly from: number
  /** Whether each is a directory itself: a repository in this one. */
  readonly paths: ReadonlyMap<string, boolean>
  /** Those that they are in. */
  readonly directories: ReadonlySet<string>
}

/** For the top of a folder; undefined if nothing is left out. */
export function folderRules(options: FolderRulesOptions, read: ReadRules): FolderRules | undefined {
  const { exclude = [], ignored = 'all' } = options
  if (exclude.length === 0 && ignored === 'all') return undefined
  const excluded = ignoreRules(exclude)
  const listed = parseIgnoreFile((ignored === 'listed' ? read('.worktreeinclude') : undefined) ?? '')

  const verdictAt = (level: Level, name: string, isDirectory: boolean): Verdict => {
    const path = level.path + name
    if (excluded.verdict(path, isDirectory) === true) return 'out'
    if (ignored === 'all' || level.within === 'listed' || !isIgnored(level, name, isDirectory)) return 'in'
    if (listed.verdict(path, isDirectory) === true) return 'in'
    const holdsSome = level.tracked.directories.has(path.slice(level.tracked.from))
    return isDirectory && (holdsSome || listed.mayConcern(path)) ? 'perhaps' : 'out'
  }
  const at = (level: Level): FolderRules => ({
    verdict: (name, isDirectory) => verdictAt(level, name, isDirectory),
    below(name, verdict, readBelow) {
      const path = `${level.path}${name}/`
      if (ignored === 'all' || level.within === 'listed') return at({ ...level, path })
      if (verdict === 'perhaps') return at({ ...level, path, within: 'ignored', lists: [] })
      if (isIgnored(level, name, true)) return at({ ...level, path, within: 'listed', lists: [] })
      return at({ path, within: undefined, ...knownOf(path.length, level, readBelow) })
    },
  })
  const top: Level = { path: '', within: undefined, lists: [], tracked: nothing }
  return at(ignored === 'all' ? top : { ...top, ...knownOf(0, top, read) })
}

const nothing: Tracked = { from: 0, paths: new Map(), directories: new Set() }

function isIgnored({ path, within, lists, tracked }: Level, name: string, isDirectory: boolean): boolean {
  if (tracked.paths.get(path.slice(tracked.from) + name) === isDirectory) return false
  if (within === 'ignored') return true
  // The repository itself, which git has no rules for.
  if (name === '.git') return false
  for (const { from, rules } of lists) {
    const verdict = rules.verdict(path.slice(from) + name, isDirectory)
    if (verdict !== undefined) return verdict
  }
  return false
}

/** A directory with a repository, or that is a working tree of one elsewhere, begins anew. */
function knownOf(from: number, above: Pick<Level, 'lists' | 'tracked'>, read: ReadRules): typeof above {
  const list = (path: string): Level['lists'] => {
    const text = read(path)
    return text === undefined ? [] : [{ from, rules: parseIgnoreFile(text) }]
  }
  const isRepository = (read('.git/HEAD') ?? read('.git')) !== undefined
  return {
    lists: [...list('.gitignore'), ...(isRepository ? list('.git/info/exclude') : above.lists)],
    tracked: isRepository ? trackedBy(from, read) : above.tracked,
  }
}

function trackedBy(from: number, read: ReadRules): Tracked {
  const paths = new Map(trackedEntries(read).map(({ path, mode }): [string, boolean] => [path, mode === submoduleMode]))
  const directories = new Set<string>()
  for (const path of paths.keys())
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (directories.has(path.slice(0, end))) break
      directories.add(path.slice(0, end))
    }
  return { from, paths, directories }
}

/** Of a split index also what it has taken out of the shared one: that it is tracked no more is not told apart. */
function trackedEntries(read: ReadRules): readonly IndexEntry[] {
  const { entries, base } = indexIn('.git/index', read)
  // A shared one adds to no other, whatever it says.
  return base === undefined ? entries : [...entries, ...indexIn(`.git/sharedindex.${base}`, read).entries]
}

function indexIn(file: string, read: ReadRules): GitIndex {
  const text = read(file)
  const index = text === undefined ? { entries: [], base: undefined } : parseIndex(Buffer.from(text, 'latin1'))
  if (index !== undefined) return index
  throw new AwError('source_failed', `What git tracks in the folder cannot be told: its ${file} cannot be read`, {
    hint: 'See that git status works there, or copy the ignored files too',
    data: { file },
  })
}
