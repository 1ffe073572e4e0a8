import { ignoreRules, parseIgnoreFile, type IgnoreRules } from './ignore-rules.ts'

/**
 * What of a folder is left out of a copy, asked from the top down, directory by directory.
 *
 * - `exclude`: patterns as in a `.gitignore` at the folder's top. They come first and have the last word.
 * - `ignored`: what becomes of the things that git ignores. `all`: they are like others. `none`: they are left out.
 *   `listed`: they are left out, but for those that the patterns in the folder's `.worktreeinclude` fit.
 *
 * What git ignores is what the folder's own `.gitignore` files say, and `.git/info/exclude`; neither a user's own
 * file nor those above the folder are looked for. A repository inside the folder has rules of its own. Which files git
 * tracks although they are ignored is known to git alone, and it is not asked: such a file is left out.
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

/** The text of a file of that directory, by its path; undefined if there is none. */
export type ReadRules = (path: string) => string | undefined

interface Level {
  /** Of the directory, with a slash behind it; empty for the top. */
  readonly path: string
  /** In what was ignored itself: `out` but for what is listed; or all of it was listed. */
  readonly within: 'ignored' | 'listed' | undefined
  /** The nearest first, each with the length of the path of the directory that it is for. */
  readonly lists: readonly { readonly from: number; readonly rules: IgnoreRules }[]
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
    return isDirectory && listed.mayConcern(path) ? 'perhaps' : 'out'
  }
  const at = (level: Level): FolderRules => ({
    verdict: (name, isDirectory) => verdictAt(level, name, isDirectory),
    below(name, verdict, readBelow) {
      const path = `${level.path}${name}/`
      if (ignored === 'all' || level.within === 'listed') return at({ ...level, path })
      if (verdict === 'perhaps') return at({ path, within: 'ignored', lists: [] })
      if (isIgnored(level, name, true)) return at({ path, within: 'listed', lists: [] })
      return at({ path, within: undefined, lists: listsOf(path.length, level.lists, readBelow) })
    },
  })
  return at({ path: '', within: undefined, lists: ignored === 'all' ? [] : listsOf(0, [], read) })
}

function isIgnored({ path, within, lists }: Level, name: string, isDirectory: boolean): boolean {
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
function listsOf(from: number, above: Level['lists'], read: ReadRules): Level['lists'] {
  const list = (path: string): Level['lists'] => {
    const text = read(path)
    return text === undefined ? [] : [{ from, rules: parseIgnoreFile(text) }]
  }
  const isRepository = (read('.git/HEAD') ?? read('.git')) !== undefined
  return [...list('.gitignore'), ...(isRepository ? list('.git/info/exclude') : above)]
}
